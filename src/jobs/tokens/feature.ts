/** Tokens: who may use the control API. */
import { feature } from "#cli/feature.ts";

export const tokens = feature({
  name: "tokens",
  audit: "tokens",
  open: async (kernel) => {
    const { openTokens, tokenEndpoints } = await import("./tokens.ts");
    const service = openTokens({ ...kernel, configured: kernel.config.http.tokens });
    return { service, routes: () => tokenEndpoints(service) };
  },
  commands: {
    tokens: {
      group: "operate",
      summary: "Manage tokens for the control API and the dashboard",
      load: async (context) => (await import("./commands.ts")).tokensCommand(context),
    },
  },
});

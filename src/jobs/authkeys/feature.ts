/** AuthKeys and their rotation. */
import type { Feature } from "#cli/feature.ts";

export const authKeys: Feature = {
  name: "authkeys",
  endpoints: async (app) =>
    (await import("./endpoints.ts")).authKeyEndpoints({
      authKeys: app.authKeys,
      profileOf: (name) => app.profileOf(name),
    }),
  commands: {
    authkeys: {
      group: "Rotate secrets:",
      summary: "list and rotate the account's AuthKeys",
      load: async (context) => (await import("./commands/authkeys.ts")).authKeysCommand(context),
    },
  },
  effects: {
    "authkeys list": "reads",
    "authkeys rotate": "changes profile",
  },
};

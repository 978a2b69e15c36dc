/** Freezes: times without changes. */
import { feature } from "#cli/feature.ts";
import { events } from "./events.ts";

export const freezes = feature({
  name: "freezes",
  data: { freezes: ["freeze"] },
  audit: "freezes",
  events,
  open: async (kernel) => {
    const { Freezes, freezeEndpoints } = await import("./freezes.ts");
    const { config, redisPlace } = kernel;
    const service = new Freezes({ ...kernel, periods: config.freezes });
    return { service, routes: () => freezeEndpoints(service, Object.keys(config.profiles), redisPlace) };
  },
  commands: {
    freeze: {
      group: "automate",
      summary: "Freeze all changes on the platform",
      load: async (context) => (await import("./commands.ts")).freezeCommand(context),
    },
  },
  stores: { "freeze on": "never", "freeze off": "never" },
  reads: ["freeze status"],
});

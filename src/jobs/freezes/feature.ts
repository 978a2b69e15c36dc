/** Freezes: times without changes. */
import type { Feature } from "#cli/feature.ts";

const freezeSummary = "freeze all changes on the platform";

export const freezes: Feature = {
  name: "freezes",
  endpoints: async ({ freezes: store, config, redisPlace, runs }) =>
    (await import("./endpoints.ts")).freezeEndpoints(store, {
      profiles: Object.keys(config.profiles),
      store: redisPlace,
      workersOf: (profile) => runs.workersOf(profile),
    }),
  commands: {
    freeze: {
      group: "automate",
      summary: freezeSummary,
      load: async (context) => (await import("./commands.ts")).freezeCommand(context),
    },
  },
  stores: { "freeze on": "never", "freeze off": "never" },
  effects: {
    "freeze on": "changes",
    "freeze off": "changes",
    "freeze status": "reads",
  },
};

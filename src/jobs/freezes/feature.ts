/** Freezes: times without changes. */
import type { Feature } from "#cli/feature.ts";

export const freezes: Feature = {
  name: "freezes",
  endpoints: async (app) =>
    (await import("./endpoints.ts")).freezeEndpoints(app.freezes, Object.keys(app.config.profiles)),
  commands: {
    freeze: {
      group: "Automate:",
      summary: "freeze all changes on the platform",
      load: async (context) => (await import("./commands.ts")).freezeCommand(context),
    },
  },
  effects: {
    "freeze on": "changes",
    "freeze off": "changes",
    "freeze status": "reads",
  },
};

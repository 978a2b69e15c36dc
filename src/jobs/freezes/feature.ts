/** Freezes: times without changes. */
import type { Feature } from "#cli/feature.ts";
import { freezeSummary } from "./strings.ts";

export const freezes: Feature = {
  name: "freezes",
  endpoints: async (app) =>
    (await import("./endpoints.ts")).freezeEndpoints(app.freezes, Object.keys(app.config.profiles)),
  commands: {
    freeze: {
      group: "automate",
      summary: freezeSummary,
      load: async (context) => (await import("./commands.ts")).freezeCommand(context),
    },
  },
  effects: {
    "freeze on": "changes",
    "freeze off": "changes",
    "freeze status": "reads",
  },
};

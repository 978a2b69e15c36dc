/** Freezes: times without changes. */
import type { Feature } from "#cli/feature.ts";
import { freezeEndpoints } from "./endpoints.ts";

export const freezes: Feature = {
  name: "freezes",
  endpoints: (app) => freezeEndpoints(app.freezes, Object.keys(app.config.profiles)),
  commands: {
    freeze: async (context) => (await import("./commands.ts")).freezeCommand(context),
  },
  effects: {
    "freeze on": "changes",
    "freeze off": "changes",
    "freeze status": "reads",
  },
};

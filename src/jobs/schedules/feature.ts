/** Schedules: tasks at times. */
import type { Feature } from "#cli/feature.ts";

export const schedules: Feature = {
  name: "schedules",
  endpoints: async (app) => (await import("./endpoints.ts")).scheduleEndpoints(app.schedules),
  commands: {
    schedules: {
      group: "Automate:",
      summary: "scheduled tasks: next runs and last results",
      load: async (context) => (await import("./commands.ts")).schedulesCommand(context),
    },
  },
  effects: {
    "schedules list": "reads",
    "schedules trigger": "changes",
    "schedules pause": "changes",
    "schedules resume": "changes",
  },
};

/** Schedules: tasks at times. */
import type { Feature } from "#cli/feature.ts";
import { scheduleEndpoints } from "./endpoints.ts";

export const schedules: Feature = {
  name: "schedules",
  endpoints: (app) => scheduleEndpoints(app.schedules),
  commands: {
    schedules: async (context) => (await import("./commands.ts")).schedulesCommand(context),
  },
  effects: {
    "schedules list": "reads",
    "schedules trigger": "changes",
    "schedules pause": "changes",
    "schedules resume": "changes",
  },
};

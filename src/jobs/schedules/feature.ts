/** Schedules: tasks at times. */
import { logIncidents } from "#app/feature.ts";
import type { Feature } from "#cli/feature.ts";

const schedulesSummary = "scheduled tasks: next times and last results";

export const schedules: Feature = {
  name: "schedules",
  endpoints: async (app) => (await import("./endpoints.ts")).scheduleEndpoints(app.schedules),
  // Also if none are configured: schedules that were removed are deleted from the queue.
  work: async (app, { logger }) => [await app.consumeSchedules(logIncidents(logger, { job: "schedules" }))],
  commands: {
    schedules: {
      group: "automate",
      summary: schedulesSummary,
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

/** Schedules: tasks at times. */
import { feature } from "#cli/feature.ts";
import { events } from "./events.ts";
import { logIncidents } from "#kernel/feature.ts";
import { freezes } from "#jobs/freezes/feature.ts";
import { tasks } from "#jobs/tasks/feature.ts";
import { runs } from "#jobs/runs/feature.ts";
import { secondMs } from "#core/time.ts";

export const schedules = feature({
  name: "schedules",
  data: { schedules: ["schedule"] },
  audit: "schedules",
  events,
  needs: { freezes, tasks, runs },
  open: async (kernel, needs) => {
    const { openSchedules } = await import("./open.ts");
    const { service, consume } = openSchedules(kernel, needs);
    const { clock, logger, watchOver } = kernel;
    return {
      service,
      routes: async () => (await import("./service.ts")).scheduleEndpoints(service),
      work: async () => [watchOver("schedules", await consume(logIncidents(logger, { job: "schedules" })))],
      readings: async () =>
        (await service.list()).flatMap(({ name: schedule, last }) => {
          if (last === null) return [];
          const ageMs = clock.wallMs() - Date.parse(last.finishedAt);
          return [
            { metric: "scheduleResult", value: 1, labels: { schedule, result: last.result } },
            { metric: "scheduleAge", value: ageMs / secondMs, labels: { schedule } },
          ];
        }),
    };
  },
  commands: {
    schedules: {
      group: "automate",
      summary: "scheduled tasks: next times and last results",
      load: async (context) => (await import("./commands.ts")).schedulesCommand(context),
    },
  },
  effects: {
    "schedules list": "reads",
    "schedules trigger": "changes",
    "schedules pause": "changes",
    "schedules resume": "changes",
  },
});

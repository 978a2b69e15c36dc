/** Schedules start tasks at set times. */
import { feature } from "#cli/feature.ts";
import { events } from "./events.ts";
import { logIncidents } from "#kernel/feature.ts";
import { tasks } from "#jobs/tasks/feature.ts";
import { runs } from "#jobs/runs/feature.ts";
import { secondMs } from "#core/time.ts";

export const schedules = feature({
  name: "schedules",
  data: { schedules: ["schedule"] },
  audit: "schedules",
  section: async () => (await import("./config.ts")).schedulesSection,
  events,
  needs: { tasks, runs },
  checks: async (configured) => (await import("./config.ts")).checksOf(configured),
  open: async (kernel, needs, configured) => {
    const { scheduleService } = await import("./service.ts");
    const { scheduleLog } = await import("./record.ts");
    const { consumeSchedules } = await import("./work.ts");
    const { namedJobs } = await import("#engine/queue/named-jobs.ts");
    const { clock, logger } = kernel;
    const jobs = namedJobs("schedules", kernel);
    const context = { ...kernel, ...needs, log: scheduleLog(kernel), schedules: configured, jobs };
    const service = scheduleService(context);
    return {
      service,
      routes: () => service.endpoints(),
      work: () => consumeSchedules(context, { ...kernel, onIncident: logIncidents(logger, { job: "schedules" }) }),
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
      summary: "Manage scheduled tasks",
      load: async (context) => (await import("./commands.ts")).schedulesCommand(context),
    },
  },
});

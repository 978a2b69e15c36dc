/** Opens schedules: their record, their queue, and the service. */
import type { Incident, Working } from "#engine/queue/job-result.ts";
import type { Freezes } from "#jobs/freezes/record.ts";
import type { OpenRuns } from "#jobs/runs/open.ts";
import type { ServiceTasks } from "#jobs/tasks/tasks.ts";
import type { Kernel } from "#kernel/kernel.ts";
import { scheduleQueue } from "./queue.ts";
import { scheduleLog } from "./record.ts";
import { ScheduleService } from "./service.ts";
import { workOnSchedule } from "./work.ts";

interface Needs {
  readonly freezes: Freezes;
  readonly tasks: ServiceTasks;
  readonly runs: OpenRuns;
}

export function openSchedules(kernel: Kernel, { freezes, tasks, runs }: Needs) {
  const { config, clock, guard, feed, lifecycle } = kernel;
  const { schedules } = config;
  const queue = scheduleQueue(kernel);
  lifecycle.onStop("schedule queue", () => queue.close());
  const log = scheduleLog(kernel);
  const context = { log, clock, tasks, guard, freezeOf: (profile: string) => freezes.of(profile) };
  const operationOf = (name: string, profile: string) => runs.service.operation(name, profile);
  const service = new ScheduleService({ log, queue, clock, operationOf, schedules });

  /** Runs the tasks of all schedules at their times until stopped. */
  const consume = (onIncident: (incident: Incident) => void): Promise<Working> =>
    queue.consume({
      schedules,
      poll: (schedule, signal) => workOnSchedule(schedule, context, signal),
      onLate: async ({ name, profile }, dueMs) => {
        const due = new Date(dueMs).toISOString();
        onIncident({ message: `the queue did not trigger ${name} at ${due}; its trigger is set again` });
        await feed.emit({ type: "schedule.late", profile, fields: { schedule: name, due } });
      },
      onIncident,
    });

  return { service, consume };
}

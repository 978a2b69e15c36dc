/** Opens schedules: their record, their clock, and the service. */
import type { Incident, Working } from "#engine/queue/job-result.ts";
import type { Freezes } from "#jobs/freezes/record.ts";
import type { OpenRuns } from "#jobs/runs/open.ts";
import type { ServiceTasks } from "#jobs/tasks/tasks.ts";
import type { Kernel } from "#kernel/kernel.ts";
import { pollSchedules } from "./clock.ts";
import { scheduleLog } from "./record.ts";
import { ScheduleService } from "./service.ts";
import { workOnSchedule } from "./work.ts";

interface Needs {
  readonly freezes: Freezes;
  readonly tasks: ServiceTasks;
  readonly runs: OpenRuns;
}

export function openSchedules(kernel: Kernel, { freezes, tasks, runs }: Needs) {
  const { config, clock, guard, workerRegistry } = kernel;
  const { schedules } = config;
  const log = scheduleLog(kernel);
  const context = { log, clock, tasks, guard, freezeOf: (profile: string) => freezes.of(profile) };
  const operationOf = (name: string, profile: string) => runs.service.operation(name, profile);
  const service = new ScheduleService({ log, workerRegistry, clock, operationOf, schedules });

  /** Runs the tasks of all schedules at their times until stopped. */
  const consume = (onIncident: (incident: Incident) => void): Promise<Working> =>
    pollSchedules(
      {
        schedules,
        poll: (schedule, signal) => workOnSchedule(schedule, context, signal),
        requests: log.requests,
        onIncident,
      },
      kernel,
    );

  return { service, consume };
}

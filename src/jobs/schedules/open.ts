/** Opens schedules: their record, their polls, and the service. */
import type { Incident, Working } from "#engine/queue/job-result.ts";
import type { Freezes } from "#jobs/freezes/freezes.ts";
import type { OpenRuns } from "#jobs/runs/open.ts";
import type { ServiceTasks } from "#jobs/tasks/tasks.ts";
import type { Kernel } from "#kernel/kernel.ts";
import { scheduleLog } from "./record.ts";
import { ScheduleService } from "./service.ts";
import { pollSchedules, workOnSchedule } from "./work.ts";

export function openSchedules(
  kernel: Kernel,
  { freezes, tasks, runs }: { readonly freezes: Freezes; readonly tasks: ServiceTasks; readonly runs: OpenRuns },
) {
  const { clock, guard, workerRegistry } = kernel;
  const { schedules } = kernel.config;
  const log = scheduleLog(kernel);
  const context = { log, clock, tasks, guard, freezeOf: (profile: string) => freezes.of(profile) };
  const operationOf = (name: string, profile: string) => runs.service.operation(name, profile);
  const service = new ScheduleService({ log, workerRegistry, clock, operationOf, schedules });

  /** Runs the tasks of all schedules at their times until stopped. */
  const consume = (onIncident: (incident: Incident) => void): Promise<Working> =>
    pollSchedules(schedules, (schedule, signal) => workOnSchedule(schedule, context, signal), {
      clock,
      workerRegistry,
      onIncident,
    });

  return { service, consume };
}

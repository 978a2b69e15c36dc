/** Operations on schedules, shared by the CLI and the HTTP API. */
import * as routes from "./contract.ts";
import { hash, randomUUID } from "node:crypto";
import { reportOf } from "#contract/fields.ts";
import { entryNamed } from "#core/errors.ts";
import { isoTime, secondMs } from "#core/time.ts";
import { nextTimes } from "#fleet/time/cron.ts";
import type { Schedule } from "./config.ts";
import type { RunService } from "#jobs/runs/service.ts";
import { type ServiceTasks, shownOperation } from "#jobs/tasks/tasks.ts";
import { executionId } from "./work.ts";
import type { NamedJobs } from "#engine/queue/named-jobs.ts";
import type { Kernel } from "#kernel/kernel.ts";
import type { Execution, ScheduleLog } from "./record.ts";
import { type Endpoint, creating, endpoint } from "#contract/route.ts";

const shownTimes = 5;

interface ScheduleServiceDeps extends Pick<Kernel, "clock"> {
  readonly log: ScheduleLog;
  readonly schedules: readonly Schedule[];
  readonly tasks: Pick<ServiceTasks, "preview">;
  readonly jobs: Pick<NamedJobs, "enqueue" | "isServed">;
  readonly runs: { readonly service: Pick<RunService, "operation"> };
}

export type ScheduleService = ReturnType<typeof scheduleService>;

export function scheduleService(deps: ScheduleServiceDeps) {
  const { log, clock, schedules, tasks, jobs } = deps;

  const byName = schedules.map((one): [string, Schedule] => [one.name, one]);
  /** @throws SimfleetError SCHEDULE_NOT_FOUND */
  const scheduleNamed = (name: string) => entryNamed(byName, name, "schedule", "SCHEDULE_NOT_FOUND");

  /** In the order of the configuration. */
  const list = (): Promise<routes.ScheduleReport[]> => Promise.all(schedules.map((one) => reportOn(one, deps)));

  /** @throws SimfleetError SCHEDULE_NOT_FOUND */
  const show = async (name: string): Promise<routes.ScheduleReport> => reportOn(scheduleNamed(name), deps);

  /** @throws SimfleetError SCHEDULE_NOT_FOUND */
  const update = async (name: string, decide: Parameters<ScheduleLog["update"]>[1]) => {
    await log.update(scheduleNamed(name), decide);
    return show(name);
  };

  /**
   * Runs the task now, even if the schedule is paused; waits for a task in progress to end first.
   * @param messageId id of the message that requests it; a repeated id is ignored for a day
   */
  const trigger = async (name: string, { by, messageId = randomUUID() }: { by: string; messageId?: string }) => {
    const schedule = scheduleNamed(name);
    if (await log.knowsMessage(name, messageId)) return show(name);
    const atMs = clock.wallMs();
    const mark = hash("sha256", messageId).slice(0, 8);
    const id = `${executionId(name, Math.floor(atMs / secondMs) * secondMs)}-${mark}`;
    const wanted = { id, by, dueMs: atMs, startedAtMs: atMs };
    // Whatever the overlap policy is, it waits for the task in progress, or the one that is about to begin.
    await log.update(schedule, (record) => {
      const { queued, execution, last } = record ?? {};
      // The process that handled the message may have died before it remembered it.
      if ([queued, execution, last].some((one) => one?.id.endsWith(mark))) return undefined;
      return queued !== undefined && execution === undefined
        ? { change: { execution: { ...queued, startedAtMs: atMs }, queued: wanted } }
        : { change: { queued: queued ?? wanted } };
    });
    await log.rememberMessage(name, messageId);
    await jobs.enqueue(name, "now");
    return show(name);
  };

  /** Ignores the schedule's times until it is resumed; a task in progress continues. */
  const pause = (name: string, by: string) => {
    const change = { paused: { by, atMs: clock.wallMs() }, dueMs: undefined };
    const events = [{ type: "schedule.paused", fields: { by } }] as const;
    return update(name, (record) => (record?.paused === undefined ? { change, events } : undefined));
  };

  /** Resumes the schedule, starting with its next time. */
  const resume = async (name: string, by: string) => {
    const change = { paused: undefined, failures: undefined };
    const events = [{ type: "schedule.resumed", fields: { by } }] as const;
    const resumed = await update(name, (record) => (record?.paused === undefined ? undefined : { change, events }));
    await jobs.enqueue(name, "now");
    return resumed;
  };

  const endpoints = (): readonly Endpoint[] => [
    endpoint(routes.listSchedules, async () => ({ schedules: await list(), nextCursor: null })),
    endpoint(routes.showSchedule, ({ params }) => show(params.name)),
    endpoint(routes.pauseSchedule, ({ params, by }) => pause(params.name, by)),
    endpoint(routes.resumeSchedule, ({ params, by }) => resume(params.name, by)),
    endpoint(routes.dryRunSchedule, ({ params }) => tasks.preview(scheduleNamed(params.name).task)),
    creating(routes.triggerSchedule, ({ params: { name }, by }) => ({
      newId: randomUUID,
      create: (messageId) => trigger(name, { by, messageId }),
      show: () => show(name),
      pathOf: () => `/schedules/${name}`,
    })),
  ];

  return { list, show, trigger, pause, resume, endpoints, isServed: jobs.isServed, configured: schedules };
}

async function reportOn(schedule: Schedule, { log, clock, runs }: ScheduleServiceDeps): Promise<routes.ScheduleReport> {
  const { profile, cron, task, missed, jitterMs } = schedule;
  const record = await log.record(schedule);
  const { paused, execution, queued, last } = record;
  const seconds = last === undefined ? 0 : (last.finishedAtMs - last.startedAtMs) / secondMs;
  return reportOf(routes.scheduleReport, {
    ...schedule,
    ...shownOperation(task, profile, runs.service),
    job: task.job,
    cron: cron.text,
    timezone: cron.timezone,
    state: paused === undefined ? "active" : "paused",
    reason: paused?.reason,
    failingSince: isoTime(record.failingSinceMs),
    next: paused === undefined ? nextTimes(cron, clock.wallMs(), shownTimes) : [],
    running: execution && reportOf(routes.execution, named(execution)),
    isQueued: queued !== undefined && execution !== undefined,
    last: last && reportOf(routes.lastExecution, { ...named(last), seconds, dueAtMs: last.dueMs }),
    missed: typeof missed === "string" ? missed : `within ${missed.within}`,
    jitterSeconds: jitterMs / secondMs,
  });
}

function named<E extends Execution>({ id, ref, ...times }: E) {
  return { ...times, execution: id, ref: ref?.id };
}

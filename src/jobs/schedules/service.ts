/** Operations on schedules, shared by the CLI and the HTTP API. */
import * as routes from "./contract.ts";
import { randomInt } from "node:crypto";
import { reportOf } from "#contract/fields.ts";
import { notConfigured } from "#core/errors.ts";
import { isoTime, secondMs } from "#core/time.ts";
import type { SimOperation } from "#fleet/sim-operation/sim-operation.ts";
import { localText } from "#fleet/time/cron.ts";
import type { Update } from "#engine/record.ts";
import type { Schedule } from "./config.ts";
import { type ServiceTasks, shownOperation } from "#jobs/tasks/tasks.ts";
import { executionId, schedulesQueue } from "./work.ts";
import type { Kernel } from "#kernel/kernel.ts";
import type { EndedExecution, Execution, ScheduleLog, ScheduleRecord } from "./record.ts";
import { type Endpoint, creating, endpoint } from "#contract/route.ts";

const shownTimes = 5;
const rememberMessageSeconds = 86_400;

interface ScheduleServiceDeps extends Pick<Kernel, "workerRegistry" | "clock"> {
  readonly log: ScheduleLog;
  readonly schedules: readonly Schedule[];
  readonly tasks: Pick<ServiceTasks, "preview">;
  /** A SIM operation as the profile uses it. */
  readonly operationOf: (name: string, profile: string) => SimOperation;
}

export class ScheduleService {
  readonly #deps: ScheduleServiceDeps;

  constructor(deps: ScheduleServiceDeps) {
    this.#deps = deps;
  }

  /** In the order of the configuration. */
  list(): Promise<routes.ScheduleReport[]> {
    return Promise.all(this.#deps.schedules.map(async (one) => this.#report(one, await this.#deps.log.record(one))));
  }

  /** @throws SimfleetError SCHEDULE_NOT_FOUND */
  async show(name: string): Promise<routes.ScheduleReport> {
    const schedule = this.#schedule(name);
    return this.#report(schedule, await this.#deps.log.record(schedule));
  }

  /**
   * Runs the task now, even if the schedule is paused; waits for a task in progress to end first.
   * @param messageId id of the message that requests it; a repeated id is ignored for a day
   */
  async trigger(name: string, { by, messageId }: { by: string; messageId?: string }): Promise<routes.ScheduleReport> {
    this.#schedule(name);
    const { log, clock } = this.#deps;
    const isNew = messageId === undefined || (await log.isNewMessage(name, messageId, rememberMessageSeconds));
    if (!isNew) return this.show(name);
    const atMs = clock.wallMs();
    const id = `${executionId(name, Math.floor(atMs / secondMs) * secondMs)}-${randomInt(1_000, 10_000)}`;
    const wanted = { id, by, dueMs: atMs, startedAtMs: atMs };
    // Whatever the overlap policy is, it waits for the task in progress, or the one that is about to begin.
    return this.#update(name, (record) => ({
      change:
        record?.queued !== undefined && record.execution === undefined
          ? { execution: { ...record.queued, startedAtMs: atMs }, queued: wanted }
          : { queued: record?.queued ?? wanted },
    }));
  }

  /** Ignores the schedule's times until it is resumed; a task in progress continues. */
  pause(name: string, by: string): Promise<routes.ScheduleReport> {
    const change = { paused: { by, atMs: this.#deps.clock.wallMs() }, dueMs: undefined };
    const events = [{ type: "schedule.paused", fields: { by } }] as const;
    return this.#update(name, (record) => (record?.paused === undefined ? { change, events } : undefined));
  }

  /** Resumes the schedule, starting with its next time. */
  resume(name: string, by: string): Promise<routes.ScheduleReport> {
    const change = { paused: undefined, failures: undefined };
    const events = [{ type: "schedule.resumed", fields: { by } }] as const;
    return this.#update(name, (record) => (record?.paused === undefined ? undefined : { change, events }));
  }

  /** Whether a live process handles schedules. */
  async isServed(): Promise<boolean> {
    return (await this.#deps.workerRegistry.workers(schedulesQueue)).length > 0;
  }

  endpoints(): readonly Endpoint[] {
    return [
      endpoint(routes.listSchedules, async () => ({ schedules: await this.list(), nextCursor: null })),
      endpoint(routes.showSchedule, ({ params }) => this.show(params.name)),
      endpoint(routes.pauseSchedule, ({ params, by }) => this.pause(params.name, by)),
      endpoint(routes.resumeSchedule, ({ params, by }) => this.resume(params.name, by)),
      endpoint(routes.dryRunSchedule, ({ params }) => this.#deps.tasks.preview(this.#schedule(params.name).task)),
      creating(routes.triggerSchedule, ({ params: { name }, by }) => ({
        newId: () => name,
        create: () => this.trigger(name, { by }),
        pathOf: () => `/schedules/${name}`,
      })),
    ];
  }

  /** @throws SimfleetError SCHEDULE_NOT_FOUND */
  async #update(name: string, decide: (record: ScheduleRecord | undefined) => Update<ScheduleRecord> | undefined) {
    await this.#deps.log.update(this.#schedule(name), decide);
    return this.show(name);
  }

  #schedule(name: string): Schedule {
    const found = this.#deps.schedules.find((one) => one.name === name);
    if (found !== undefined) return found;
    const known = this.#deps.schedules.map((one) => one.name);
    throw notConfigured("SCHEDULE_NOT_FOUND", "schedule", name, known);
  }

  #report(schedule: Schedule, record: ScheduleRecord): routes.ScheduleReport {
    const { profile, cron, task, missed, jitterMs } = schedule;
    const { paused, execution, queued, last } = record;
    return reportOf(routes.scheduleReport, {
      ...schedule,
      ...shownOperation(task, profile, this.#deps.operationOf),
      job: task.job,
      cron: cron.text,
      timezone: cron.timezone,
      state: paused === undefined ? "active" : "paused",
      reason: paused?.reason,
      failingSince: isoTime(record.failingSinceMs),
      next: paused === undefined ? nextTimes(schedule, this.#deps.clock.wallMs()) : [],
      running: execution && reportOf(routes.execution, named(execution)),
      isQueued: queued !== undefined && execution !== undefined,
      last: last && reportOf(routes.lastExecution, { ...named(last), seconds: secondsOf(last), dueAtMs: last.dueMs }),
      missed: typeof missed === "string" ? missed : `within ${missed.within}`,
      jitterSeconds: jitterMs / secondMs,
    });
  }
}

function named<E extends Execution>({ id, ref, ...times }: E) {
  return { ...times, execution: id, ref: ref?.id };
}

function secondsOf({ startedAtMs, finishedAtMs }: EndedExecution): number {
  return (finishedAtMs - startedAtMs) / secondMs;
}

/** The next times of a schedule, as UTC and in its time zone. */
export function nextTimes({ cron }: Pick<Schedule, "cron">, afterMs: number): { at: string; local: string }[] {
  const times: { at: string; local: string }[] = [];
  let next = cron.next(afterMs);
  while (next !== undefined && times.length < shownTimes) {
    times.push({ at: new Date(next).toISOString(), local: localText(next, cron.timezone) });
    next = cron.next(next);
  }
  return times;
}

/** Operations on schedules, shared by the CLI and the HTTP API. */
import * as routes from "./contract.ts";
import { randomInt } from "node:crypto";
import { notConfigured } from "#core/errors.ts";
import { type Clock, isoTime } from "#core/time.ts";
import { type SimOperation, inputsOf, shownInputs } from "#fleet/sim-operation/sim-operation.ts";
import { localText } from "#fleet/time/cron.ts";
import type { Schedule } from "./config.ts";
import type { TaskPreview } from "#jobs/tasks/contract.ts";
import type { ServiceTasks } from "#jobs/tasks/tasks.ts";
import type { ScheduleReport } from "./contract.ts";
import { executionId, schedulesQueue } from "./work.ts";
import type { WorkerRegistry } from "#engine/queue/worker-registry.ts";
import type { EndedExecution, ScheduleLog, ScheduleRecord } from "./record.ts";
import { type Endpoint, creating, endpoint } from "#contract/route.ts";

const shownTimes = 5;
const rememberMessageSeconds = 86_400;

interface ScheduleServiceDeps {
  readonly log: ScheduleLog;
  readonly workerRegistry: WorkerRegistry;
  readonly clock: Clock;
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
  list(): Promise<ScheduleReport[]> {
    return Promise.all(this.#deps.schedules.map(async (one) => this.#report(one, await this.#deps.log.record(one))));
  }

  /** @throws SimfleetError SCHEDULE_NOT_FOUND */
  async show(name: string): Promise<ScheduleReport> {
    const schedule = this.#schedule(name);
    return this.#report(schedule, await this.#deps.log.record(schedule));
  }

  /**
   * Runs the task now, even if the schedule is paused; waits for a task in progress to end first.
   * @param messageId id of the message that requests it; a repeated id is ignored for a day
   */
  async trigger(name: string, { by, messageId }: { by: string; messageId?: string }): Promise<ScheduleReport> {
    const schedule = this.#schedule(name);
    const isNew =
      messageId === undefined || (await this.#deps.log.isNewMessage(name, messageId, rememberMessageSeconds));
    if (isNew) {
      const atMs = this.#deps.clock.wallMs();
      const id = `${executionId(name, Math.floor(atMs / 1_000) * 1_000)}-${randomInt(1_000, 10_000)}`;
      await this.#deps.log.update(schedule, (record) => ({
        change: { requested: record?.requested ?? { id, by, atMs } },
      }));
    }
    return this.show(name);
  }

  /** Previews what its task would do now. @throws as the task would, if it cannot be started */
  async dryRun(name: string): Promise<TaskPreview> {
    return this.#deps.tasks.preview(this.#schedule(name).task);
  }

  /** Ignores the schedule's times until it is resumed; a task in progress continues. */
  async pause(name: string, by: string): Promise<ScheduleReport> {
    const schedule = this.#schedule(name);
    const atMs = this.#deps.clock.wallMs();
    const events = [{ type: "schedule.paused", fields: { by } }] as const;
    await this.#deps.log.update(schedule, (record) =>
      record?.paused === undefined ? { change: { paused: { by, atMs }, dueMs: undefined }, events } : undefined,
    );
    return this.show(name);
  }

  /** Resumes the schedule, starting with its next time. */
  async resume(name: string, by: string): Promise<ScheduleReport> {
    const schedule = this.#schedule(name);
    const events = [{ type: "schedule.resumed", fields: { by } }] as const;
    await this.#deps.log.update(schedule, (record) =>
      record?.paused === undefined ? undefined : { change: { paused: undefined, failures: undefined }, events },
    );
    return this.show(name);
  }

  /** Whether a live process handles schedules. */
  async isServed(): Promise<boolean> {
    return (await this.#deps.workerRegistry.workers(schedulesQueue)).length > 0;
  }

  #schedule(name: string): Schedule {
    const found = this.#deps.schedules.find((one) => one.name === name);
    if (found !== undefined) return found;
    const known = this.#deps.schedules.map((one) => one.name);
    throw notConfigured("SCHEDULE_NOT_FOUND", "schedule", name, known);
  }

  #report(schedule: Schedule, record: ScheduleRecord): ScheduleReport {
    const { name, profile, cron, task, overlap, missed, frozen, jitterMs, pauseAfterFailures } = schedule;
    const { paused, execution, queued, last, failingSinceMs } = record;
    const operation = task.job === "apply" ? this.#deps.operationOf(task.operation, profile) : undefined;
    const set = task.job === "apply" ? task.set : {};
    return {
      operation: operation?.name ?? null,
      set: operation === undefined ? {} : shownInputs(operation, inputsOf(operation, set)),
      name,
      job: task.job,
      profile,
      cron: cron.text,
      timezone: cron.timezone,
      state: paused === undefined ? "active" : "paused",
      reason: paused?.reason ?? null,
      failingSince: isoTime(failingSinceMs),
      next: paused === undefined ? nextTimes(schedule, this.#deps.clock.wallMs()) : [],
      running:
        execution === undefined
          ? null
          : {
              execution: execution.id,
              startedAt: instant(execution.startedAtMs),
              ref: execution.ref?.id ?? null,
              fault: execution.fault ?? null,
            },
      isQueued: queued !== undefined || (record.requested !== undefined && execution !== undefined),
      last: last === undefined ? null : reportOfLast(last),
      overlap,
      missed: typeof missed === "string" ? missed : `within ${missed.within}`,
      pauseAfterFailures: pauseAfterFailures ?? null,
      frozen,
      jitterSeconds: jitterMs / 1e3,
    };
  }
}

/** The next times of a schedule, as UTC and in its time zone. */
export function nextTimes({ cron }: Pick<Schedule, "cron">, afterMs: number): { at: string; local: string }[] {
  const times: { at: string; local: string }[] = [];
  let next = cron.next(afterMs);
  while (next !== undefined && times.length < shownTimes) {
    times.push({ at: instant(next), local: localText(next, cron.timezone) });
    next = cron.next(next);
  }
  return times;
}

function reportOfLast(last: EndedExecution): NonNullable<ScheduleReport["last"]> {
  const { id, dueMs, startedAtMs, finishedAtMs, result, reason, ref } = last;
  return {
    execution: id,
    dueAt: instant(dueMs),
    startedAt: instant(startedAtMs),
    finishedAt: instant(finishedAtMs),
    seconds: (finishedAtMs - startedAtMs) / 1e3,
    result,
    reason: reason ?? null,
    ref: ref?.id ?? null,
  };
}

function instant(ms: number): string {
  return new Date(ms).toISOString();
}

// What answers the routes of schedules.

export function scheduleEndpoints(schedules: ScheduleService): readonly Endpoint[] {
  return [
    endpoint(routes.listSchedules, async () => ({ schedules: await schedules.list(), nextCursor: null })),
    endpoint(routes.showSchedule, ({ params }) => schedules.show(params.name)),
    endpoint(routes.pauseSchedule, ({ params, by }) => schedules.pause(params.name, by)),
    endpoint(routes.resumeSchedule, ({ params, by }) => schedules.resume(params.name, by)),
    endpoint(routes.dryRunSchedule, ({ params }) => schedules.dryRun(params.name)),
    creating(routes.triggerSchedule, ({ params: { name }, by }) => ({
      newId: () => name,
      create: () => schedules.trigger(name, { by }),
      pathOf: () => `/schedules/${name}`,
    })),
  ];
}

/**
 * Processes one schedule: checks whether its time has come, starts its task, and follows the task to its end. Every
 * transition depends only on the record and is made by one process (record.ts), so it does not matter which process polls,
 * how often, or how the previous one ended. A task is started under the firing's id: starting it again after a crash
 * returns the task that was started before.
 */
import { backoffMs } from "#core/backoff.ts";
import { SimfleetError, messageOf } from "#core/errors.ts";
import { type Clock, minuteMs, secondMs } from "#core/time.ts";
import type { Freeze } from "#fleet/freeze.ts";
import type { FiringResult, Schedule } from "#fleet/schedule.ts";
import { type TaskReference, changesPlatform } from "#fleet/task.ts";
import type { MoveEvent } from "#engine/move-record.ts";
import type { Tasks } from "#jobs/tasks/task-runner.ts";
import type { Firing, ScheduleChange, ScheduleLog, ScheduleRecord } from "./record.ts";
import { firingId, jitterOf, mostCounted, passedTimes } from "./times.ts";

export interface ScheduleContext {
  readonly log: ScheduleLog;
  readonly clock: Clock;
  readonly tasks: Tasks;
  readonly freezeOf: (profile: string) => Promise<Freeze | undefined>;
}

interface Step {
  readonly change: ScheduleChange;
  readonly events: readonly MoveEvent[];
}

/** Poll interval for a task in progress. */
const pollIntervalMs = 2 * secondMs;
/** Attempts to start a task; with the backoff they take about a quarter of an hour. */
const mostTries = 8;
const tryBackoff = { baseMs: 5 * secondMs, capMs: 5 * minuteMs };

/**
 * Advances a schedule as far as possible.
 * @returns when to poll it again, ms since the epoch
 * @throws errors of the store
 */
export async function workOnSchedule(schedule: Schedule, context: ScheduleContext): Promise<number> {
  const { log } = context;
  const { name, profile } = schedule;
  for (;;) {
    const record = await log.record(name);
    const next = await new Poll(schedule, record, context).next();
    if (typeof next === "number") return next;
    await log.move({ name, profile, record }, next.change, next.events);
  }
}

/** One poll of a record: determines the transition that is due. */
class Poll {
  readonly #schedule: Schedule;
  readonly #record: ScheduleRecord;
  readonly #context: ScheduleContext;
  readonly #nowMs: number;

  constructor(schedule: Schedule, record: ScheduleRecord, context: ScheduleContext) {
    this.#schedule = schedule;
    this.#record = record;
    this.#context = context;
    this.#nowMs = context.clock.wallMs();
  }

  /** Returns the next step, or the time at which there will be one. */
  async next(): Promise<Step | number> {
    const { firing, queued, requested } = this.#record;
    const due = this.#due();
    if (typeof due === "object") return due;
    if (firing !== undefined) {
      const step = await (firing.ref === undefined ? this.#begin(firing) : this.#follow(firing, firing.ref));
      if (typeof step === "object") return step;
      if (requested !== undefined) return this.#queue(requested);
      return Math.min(step, due);
    }
    if (queued !== undefined) return { change: { queued: undefined, firing: this.#started(queued) }, events: [] };
    if (requested !== undefined) return this.#fireRequested(requested);
    return due;
  }

  /** Handles the schedule's next time, or returns when it comes; far in the future while the schedule is paused. */
  #due(): Step | number {
    const { cron } = this.#schedule;
    const { dueMs, paused } = this.#record;
    const pattern = `${cron.text} ${cron.timezone}`;
    const nextMs = (): number | undefined => cron.next(this.#nowMs);
    if (paused !== undefined) {
      return dueMs === undefined ? Number.POSITIVE_INFINITY : { change: { dueMs: undefined }, events: [] };
    }
    if (dueMs === undefined || this.#record.pattern !== pattern) {
      return { change: { pattern, dueMs: nextMs() }, events: [] };
    }
    if (dueMs > this.#nowMs) return dueMs + jitterOf(this.#schedule, dueMs);
    const passed = passedTimes(this.#schedule, dueMs, this.#nowMs);
    const beginsMs = passed.latestMs + jitterOf(this.#schedule, passed.latestMs);
    if (beginsMs > this.#nowMs) return beginsMs;
    const left = passed.isMissed || passed.count === mostCounted ? passed.count : passed.count - 1;
    const isMadeUp = this.#schedule.missed === "once";
    const missed = left > 0 ? [this.#missedEvent(dueMs, left, passed.isMissed && isMadeUp)] : [];
    const next = { dueMs: nextMs() };
    if (passed.isMissed && !isMadeUp) {
      return { change: { ...next, last: this.#ended(this.#firingAt(passed.latestMs), "missed") }, events: missed };
    }
    const fired = this.#fireDue(this.#firingAt(passed.latestMs));
    return { change: { ...next, ...fired.change }, events: [...missed, ...fired.events] };
  }

  #firingAt(dueMs: number): Firing {
    return { id: firingId(this.#schedule.name, dueMs), dueMs, startedAtMs: this.#nowMs };
  }

  /** Applies the overlap policy: the previous task may still be in progress. */
  #fireDue(firing: Firing): Step {
    const present = this.#record.firing;
    if (present === undefined) return { change: { firing }, events: [] };
    const { overlap } = this.#schedule;
    // A task to be cancelled is cancelled on the next poll.
    if (overlap !== "skip") return { change: { queued: firing }, events: [] };
    const what = present.ref === undefined ? present.id : `${present.ref.kind} ${present.ref.id}`;
    const reason = `the previous task is still in progress: ${what}`;
    return { change: {}, events: [this.#event("schedule.skipped", firing, { reason })] };
  }

  #fireRequested(requested: NonNullable<ScheduleRecord["requested"]>): Step {
    return { change: { requested: undefined, firing: this.#started(firingOf(requested)) }, events: [] };
  }

  /** A manual request waits for the task in progress, whatever the overlap policy is. */
  #queue(requested: NonNullable<ScheduleRecord["requested"]>): Step {
    return { change: { requested: undefined, queued: this.#record.queued ?? firingOf(requested) }, events: [] };
  }

  #started(firing: Firing): Firing {
    return { ...firing, startedAtMs: this.#nowMs };
  }

  /** Starts the task of a firing; a number is the time of the next attempt. */
  async #begin(firing: Firing): Promise<Step | number> {
    const { task, profile, frozen, name } = this.#schedule;
    const { tasks, freezeOf } = this.#context;
    if (firing.retryAtMs !== undefined && firing.retryAtMs > this.#nowMs) return firing.retryAtMs;
    const freeze = changesPlatform(task) ? await freezeOf(profile) : undefined;
    if (freeze !== undefined) {
      if (frozen === "wait") return Math.min(freeze.untilMs ?? Number.POSITIVE_INFINITY, this.#nowMs + pollIntervalMs);
      return this.#end(firing, "skipped", `nothing may change: ${freeze.reason}`);
    }
    try {
      const sinceMs = firing.startedAtMs;
      const begun = await tasks.begin(task, { key: firing.id, by: `schedule:${name}`, sinceMs });
      if (typeof begun === "string") return this.#end(firing, "done", begun);
      const started = { ...firing, ref: begun };
      return { change: { firing: started }, events: [this.#event("schedule.started", started, { by: firing.by })] };
    } catch (thrown) {
      return this.#afterFault(firing, thrown);
    }
  }

  #afterFault(firing: Firing, thrown: unknown): Step {
    const tries = (firing.tries ?? 0) + 1;
    const isHopeless = thrown instanceof SimfleetError && thrown.disposition === "never";
    if (isHopeless || tries >= mostTries) return this.#end(firing, "failed", messageOf(thrown));
    const retryAtMs = this.#nowMs + backoffMs(tryBackoff, tries);
    return { change: { firing: { ...firing, tries, retryAtMs, fault: messageOf(thrown) } }, events: [] };
  }

  /** Checks whether the task has ended. */
  async #follow(firing: Firing, reference: TaskReference): Promise<Step | number> {
    const { task, overlap, name } = this.#schedule;
    const { tasks } = this.#context;
    const { queued } = this.#record;
    let status = await tasks.status(task, reference);
    if (!status.isOver && queued !== undefined && overlap === "cancel" && queued.by === undefined) {
      await tasks.cancel(reference, { by: `schedule:${name}`, reason: "the next time of its schedule has come" });
      status = await tasks.status(task, reference);
    }
    if (!status.isOver) return this.#nowMs + pollIntervalMs;
    return this.#end(firing, status.result, status.reason);
  }

  #end(firing: Firing, result: FiringResult, reason?: string): Step {
    const last = this.#ended(firing, result, reason);
    const seconds = Math.round((last.finishedAtMs - firing.startedAtMs) / secondMs);
    const reported = {
      done: "completed",
      failed: "failed",
      cancelled: "cancelled",
      skipped: "skipped",
      missed: "missed",
    } as const;
    const event = this.#event(`schedule.${reported[result]}`, firing, {
      reason,
      ...(result === "done" ? { seconds } : {}),
    });
    return { change: { firing: undefined, last }, events: [event] };
  }

  #ended(firing: Firing, result: FiringResult, reason?: string): NonNullable<ScheduleRecord["last"]> {
    return { ...firing, finishedAtMs: this.#nowMs, result, ...(reason === undefined ? {} : { reason }) };
  }

  #event(type: MoveEvent["type"], firing: Firing, more: MoveEvent["fields"]): MoveEvent {
    const due = new Date(firing.dueMs).toISOString();
    const cause = firing.ref?.id;
    return { type, fields: { firing: firing.id, job: this.#schedule.task.job, due, cause, ...more } };
  }

  #missedEvent(dueMs: number, times: number, isMadeUp: boolean): MoveEvent {
    const due = new Date(dueMs).toISOString();
    const { job } = this.#schedule.task;
    return {
      type: "schedule.missed",
      fields: { job, due, times, madeUp: isMadeUp ? "yes" : "no" },
    };
  }
}

function firingOf({ id, by, atMs }: NonNullable<ScheduleRecord["requested"]>): Firing {
  return { id, by, dueMs: atMs, startedAtMs: atMs };
}

/**
 * The stored record of a schedule: its next time, its task in progress, its last result. A transition is made only from the
 * revision in which the record was read, so if several processes see the same time come, one of them acts.
 *   waiting -> firing            the time has come, or a user requested it (`requested`)
 *   firing  -> firing with ref   the id of the started task is known
 *   firing  -> waiting           the task has ended; a queued firing follows next
 */
import type { Redis } from "ioredis";
import type { FiringResult } from "#fleet/schedule.ts";
import type { TaskReference } from "#fleet/task.ts";
import type { StoreDeps } from "#engine/store-deps.ts";
import { type MoveEvent, makeMove } from "#engine/move-record.ts";

/** One execution of a schedule's task. */
export interface Firing {
  /** `nightly-20261122T030000Z`; always the same for the same time. */
  readonly id: string;
  /** When it was due; for a manual request, when it was made. */
  readonly dueMs: number;
  readonly startedAtMs: number;
  /** Who requested it; absent if it was due by time. */
  readonly by?: string;
  /** The run, sync or rotation that it started. */
  readonly ref?: TaskReference;
  /** Failed attempts to start it, time of the next attempt, and the last error. */
  readonly tries?: number;
  readonly retryAtMs?: number;
  readonly fault?: string;
}

export interface EndedFiring extends Firing {
  readonly finishedAtMs: number;
  readonly result: FiringResult;
  readonly reason?: string;
}

export interface ScheduleRecord {
  readonly revision: number;
  /** Cron expression and time zone that `dueMs` comes from. */
  readonly pattern: string | undefined;
  /** The next time; absent while the schedule is paused and before its first poll. */
  readonly dueMs: number | undefined;
  readonly paused: { readonly by: string; readonly atMs: number } | undefined;
  readonly requested: { readonly id: string; readonly by: string; readonly atMs: number } | undefined;
  readonly firing: Firing | undefined;
  /** Waits for the current firing to end. */
  readonly queued: Firing | undefined;
  readonly last: EndedFiring | undefined;
}

/** Fields changed by a transition; undefined removes a field. */
export type ScheduleChange = Partial<{ readonly [K in keyof Omit<ScheduleRecord, "revision">]: ScheduleRecord[K] }>;

export class ScheduleLog {
  readonly #storeDeps: StoreDeps;
  readonly #redis: Redis;

  constructor(storeDeps: StoreDeps) {
    this.#storeDeps = storeDeps;
    this.#redis = storeDeps.redis;
  }

  async record(name: string): Promise<ScheduleRecord> {
    const hash = await this.#redis.hgetall(this.#storeDeps.keys.schedule(name));
    const { revision = "0", ...fields } = hash;
    const read = Object.fromEntries(Object.entries(fields).map(([field, text]) => [field, JSON.parse(text)]));
    const nothing = { pattern: undefined, dueMs: undefined, paused: undefined, requested: undefined };
    const idle = { firing: undefined, queued: undefined, last: undefined };
    return { revision: Number(revision), ...nothing, ...idle, ...(read as ScheduleChange) };
  }

  /**
   * Makes a transition from the revision in which the record was read, and emits its events in the same script.
   * @returns false if the record has been changed since
   */
  async move(
    of: { readonly name: string; readonly profile: string; readonly record: ScheduleRecord },
    change: ScheduleChange,
    events: readonly MoveEvent[] = [],
  ): Promise<boolean> {
    const { keys } = this.#storeDeps;
    const { name, profile, record } = of;
    const written = Object.entries(change);
    const set = written.flatMap(([field, value]) => (value === undefined ? [] : [field, JSON.stringify(value)]));
    const reply = await makeMove(this.#storeDeps, {
      key: keys.schedule(name),
      profile,
      guard: ["revision", record.revision === 0 ? "" : String(record.revision)],
      set: ["revision", record.revision + 1, ...set],
      remove: written.flatMap(([field, value]) => (value === undefined ? [field] : [])),
      events: events.map(({ type, fields }) => ({ type, fields: { schedule: name, ...fields } })),
    });
    return typeof reply === "number";
  }

  /** Whether this is the first message with this id for the schedule; the id is stored for `seconds`. */
  async isNewMessage(name: string, messageId: string, seconds: number): Promise<boolean> {
    const key = this.#storeDeps.keys.triggered(name, messageId);
    return (await this.#redis.set(key, "1", "EX", seconds, "NX")) === "OK";
  }
}

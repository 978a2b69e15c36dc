/**
 * The schedules as the store keeps them: what each waits for, what it has under way, how it went last. A record is moved
 * only from the revision in which it was read, so that of any number of processes that see the same time come one acts.
 *   waiting -> firing            the time has come, or a person has asked for it (`requested`)
 *   firing  -> firing with ref   what it began is known
 *   firing  -> waiting           that is over; one that was queued meanwhile is fired next
 */
import type { Redis } from "ioredis";
import type { FiringResult } from "#fleet/schedule.ts";
import type { TaskReference } from "#fleet/task.ts";
import type { StoreDeps } from "#engine/store-deps.ts";
import { type MoveEvent, makeMove } from "#engine/move-record.ts";

/** One time at which a schedule is to do its task. */
export interface Firing {
  /** `nightly-20261122T030000Z`; the same however often the time is looked at. */
  readonly id: string;
  /** When it was due; of one that a person asked for, when that was. */
  readonly dueMs: number;
  readonly startedAtMs: number;
  /** Who asked for it; absent for one that was due. */
  readonly by?: string;
  /** What it began. */
  readonly ref?: TaskReference;
  /** Failed tries to begin it, when the next is due, and what was wrong. */
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
  /** The next time; absent while it is paused, and before it was first looked at. */
  readonly dueMs: number | undefined;
  readonly paused: { readonly by: string; readonly atMs: number } | undefined;
  readonly requested: { readonly id: string; readonly by: string; readonly atMs: number } | undefined;
  readonly firing: Firing | undefined;
  /** Waits for the one under way to end. */
  readonly queued: Firing | undefined;
  readonly last: EndedFiring | undefined;
}

/** What a move changes; undefined takes a field away. */
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
   * Makes a move from the revision in which the record was read, and tells its events with it.
   * @returns false when the record is elsewhere by now
   */
  async move(
    of: { readonly name: string; readonly profile: string; readonly record: ScheduleRecord },
    change: ScheduleChange,
    events: readonly MoveEvent[] = [],
  ): Promise<boolean> {
    const { keys, bounds } = this.#storeDeps;
    const { name, profile, record } = of;
    const written = Object.entries(change);
    const set = written.flatMap(([field, value]) => (value === undefined ? [] : [field, JSON.stringify(value)]));
    return makeMove(this.#redis, bounds, {
      keys: [keys.schedule(name), keys.events()],
      profile,
      guard: ["revision", record.revision === 0 ? "" : String(record.revision)],
      set: ["revision", record.revision + 1, ...set],
      away: written.flatMap(([field, value]) => (value === undefined ? [field] : [])),
      events: events.map(({ type, fields }) => ({ type, fields: { schedule: name, ...fields } })),
    });
  }

  /** Whether a message that asks for a schedule comes for the first time; it is remembered so long. */
  async isNewMessage(name: string, messageId: string, seconds: number): Promise<boolean> {
    const key = this.#storeDeps.keys.triggered(name, messageId);
    return (await this.#redis.set(key, "1", "EX", seconds, "NX")) === "OK";
  }
}

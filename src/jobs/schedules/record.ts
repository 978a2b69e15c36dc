/**
 * The stored record of a schedule: its next time, its task in progress, its last result. A move is made only from the
 * revision in which the record was read, so if several processes see the same time come, one of them acts. work.ts
 * lists the moves.
 */
import { dayMs, every, hourMs, secondMs } from "#core/time.ts";
import { type Change, type RecordFields, stateStore } from "#engine/record.ts";
import type { StoreDeps } from "#engine/move-record.ts";
import type { Schedule } from "./config.ts";
import type { ScheduleReport } from "./contract.ts";
import type { TaskReference } from "#fleet/task.ts";

/** One execution of a schedule's task. */
export interface Execution {
  /** `nightly-20261122T030000Z`; always the same for the same time. */
  readonly id: string;
  /** When it was due; for a manual request, when it was made. */
  readonly dueMs: number;
  readonly startedAtMs: number;
  /** Who requested it; absent if it was due by time. */
  readonly by?: string;
  readonly ref?: TaskReference;
  /** Failed attempts to start it, time of the next attempt, and the last error. */
  readonly tries?: number;
  readonly retryAtMs?: number;
  readonly fault?: string;
}

export interface EndedExecution extends Execution {
  readonly finishedAtMs: number;
  readonly result: NonNullable<ScheduleReport["last"]>["result"];
  readonly reason?: string;
}

export type Stretch = readonly [fromMs: number, untilMs: number];

export interface ScheduleRecord {
  readonly profile: string;
  readonly revision?: number;
  /** Cron expression and time zone that `dueMs` comes from. */
  readonly pattern?: string;
  /** The next time; absent while the schedule is paused and before its first poll. */
  readonly dueMs?: number;
  /** When `dueMs` was set, by the clock of the process that did. */
  readonly setAtMs?: number;
  /** Times that were acted on: the first and the last of each stretch without a gap, latest stretches only. */
  readonly actedOn?: readonly Stretch[];
  /** `reason`: why simfleet paused it. */
  readonly paused?: { readonly by: string; readonly atMs: number; readonly reason?: string };
  /** Failures in a row, since it was resumed. */
  readonly failures?: number;
  /** When the first of the failures ended that no success has followed; the alert was sent then. */
  readonly failingSinceMs?: number;
  readonly execution?: Execution;
  /** Waits for the current execution to end, or was just requested. */
  readonly queued?: Execution;
  readonly last?: EndedExecution;
}

const fields: RecordFields<ScheduleRecord> = {
  subject: "schedule",
  numbers: ["failures"],
  json: ["paused", "execution", "queued", "last", "actedOn"],
};

/** Fields changed by a move; undefined removes a field. */
export type ScheduleChange = Change<Omit<ScheduleRecord, "profile" | "revision">>;

/** The work that a task has begun, or a text if it is over. */
type Begun = TaskReference | string;

/** A task that one process does alone; without `begun` while it is at work. */
type Alone = { readonly begun?: Begun };

export type ScheduleLog = ReturnType<typeof scheduleLog>;

/** A lease without renewal expires after this time: its process died. */
const leaseMs = 15 * secondMs;

export function scheduleLog(deps: StoreDeps) {
  const { redis, keys } = deps;
  const store = stateStore(fields, deps, (name) => keys.of("schedule", name));

  /** A schedule that was never polled has an empty record. The profile is that of the configuration. */
  const record = async ({ name, profile }: Pick<Schedule, "name" | "profile">): Promise<ScheduleRecord> => ({
    ...(await store.get(name)),
    profile,
  });

  const messageKey = (name: string, messageId: string): string => keys.of("schedule", name, "message", messageId);
  /** Whether a message with this id has triggered the schedule within a day. */
  const knowsMessage = async (name: string, messageId: string): Promise<boolean> =>
    (await redis.exists(messageKey(name, messageId))) === 1;
  const rememberMessage = (name: string, messageId: string) => redis.set(messageKey(name, messageId), "", "PX", dayMs);

  const leaseOn = (name: string, executionId: string): string => keys.of("schedule", name, "lease", executionId);
  /** Reads how far an execution is that one process does alone; undefined if none does it. */
  const readAlone = async (name: string, executionId: string): Promise<Alone | undefined> => {
    const text = await redis.get(leaseOn(name, executionId));
    return text === null ? undefined : (JSON.parse(text) as Alone);
  };
  /**
   * Does what leaves no record of its own, in one process at a time; after the death of one, the next may do it. What
   * came of it is kept, since the schedule's record may have been moved meanwhile.
   */
  const doAlone = async (name: string, executionId: string, work: () => Promise<Begun>): Promise<Alone> => {
    const lease = leaseOn(name, executionId);
    if ((await redis.set(lease, "{}", "PX", leaseMs, "NX")) !== "OK") return {};
    const stopRenewing = every(leaseMs / 3, () => void redis.pexpire(lease, leaseMs).catch(() => undefined));
    try {
      const done: Alone = { begun: await work().finally(stopRenewing) };
      await redis.set(lease, JSON.stringify(done), "PX", hourMs);
      return done;
    } catch (thrown) {
      await redis.del(lease).catch(() => undefined);
      throw thrown;
    }
  };

  return { record, move: store.move, update: store.update, knowsMessage, rememberMessage, readAlone, doAlone };
}

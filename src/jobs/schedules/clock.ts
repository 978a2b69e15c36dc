/**
 * Polls schedules when they are due, in every worker. A poll depends only on the record, and of several processes that poll
 * at once one makes a move (record.ts), so the workers need no agreement on who polls.
 */
import { randomBytes } from "node:crypto";
import { messageOf } from "#core/errors.ts";
import { type Clock, every, secondMs } from "#core/time.ts";
import type { Incident, Working } from "#engine/queue/job-result.ts";
import type { WorkerRegistry } from "#engine/queue/worker-registry.ts";
import type { Schedule } from "#fleet/schedule.ts";

/** Name under which the processes that poll schedules are registered. */
export const schedulesQueue = "schedules";
const tickMs = 250;
/** Longest interval between two polls of a schedule. */
const maxIntervalMs = 10 * secondMs;

export interface ScheduleWork {
  readonly schedules: readonly Schedule[];
  /**
   * Advances a schedule as far as possible.
   * @param signal aborts when this process stops
   * @returns when to poll it again, ms since the epoch
   */
  readonly poll: (schedule: Schedule, signal: AbortSignal) => Promise<number>;
  /** The number of requests to start a task that users have made so far: a new one is polled for at once. */
  readonly requests: () => Promise<number>;
  readonly onIncident: (incident: Incident) => void;
}

/** Polls until stopped. */
export async function pollSchedules(
  { schedules, poll, requests, onIncident }: ScheduleWork,
  { clock, workerRegistry }: { readonly clock: Clock; readonly workerRegistry: WorkerRegistry },
): Promise<Working> {
  const stopping = new AbortController();
  const nextMs = new Map<string, number>();
  const polling = new Map<string, Promise<void>>();
  /** Polled once more after the poll in progress, which may not have seen the request. */
  const again = new Set<string>();
  let seen = 0;
  let isAsking = false;

  const pollNow = async (schedule: Schedule): Promise<void> => {
    const { name } = schedule;
    const wantedMs = await poll(schedule, stopping.signal).catch((thrown: unknown) => {
      onIncident({ message: `the schedule ${name} is tried again: ${messageOf(thrown)}` });
      return Number.POSITIVE_INFINITY;
    });
    nextMs.set(name, again.delete(name) ? 0 : Math.min(wantedMs, clock.wallMs() + maxIntervalMs));
  };
  const tick = async (): Promise<void> => {
    // While Redis is away, one question waits for it, instead of one for every tick.
    if (isAsking) return;
    isAsking = true;
    const requested = await requests().catch(() => seen);
    isAsking = false;
    const isRequested = requested !== seen;
    seen = requested;
    const nowMs = clock.wallMs();
    for (const schedule of schedules) {
      const { name } = schedule;
      if (isRequested) nextMs.set(name, 0);
      if (isRequested && polling.has(name)) again.add(name);
      const dueMs = nextMs.get(name) ?? 0;
      // A clock that was ahead has set a later time.
      const isDue = dueMs <= nowMs || dueMs > nowMs + maxIntervalMs;
      if (!isDue || polling.has(name) || stopping.signal.aborted) continue;
      polling.set(
        name,
        pollNow(schedule).finally(() => polling.delete(name)),
      );
    }
  };

  const leave =
    schedules.length === 0
      ? undefined
      : await workerRegistry.announce(schedulesQueue, `${process.pid}-${randomBytes(3).toString("hex")}`);
  const stopTicking = schedules.length === 0 ? undefined : every(tickMs, () => void tick());
  return {
    isMoving: () => Promise.resolve(true),
    restart: () => Promise.resolve(),
    stop: async () => {
      stopTicking?.();
      stopping.abort(new Error("this process is stopping"));
      await leave?.();
      await Promise.allSettled(polling.values());
    },
  };
}

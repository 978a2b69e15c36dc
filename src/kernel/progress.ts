/**
 * Watches that a worker makes progress. A consumer that holds work and starts none is reported and gets new connections; if
 * that does not help, the process gives up, so that its supervisor starts it again. After an outage of Redis a process can be
 * connected and still be stuck.
 */
import { type Clock, every, minuteMs, secondMs } from "#core/time.ts";
import type { Working } from "#engine/queue/job-result.ts";

/** A worker that has not picked up waiting work for this long is stuck. */
export const standstillMs = minuteMs;
const checkEveryMs = 10 * secondMs;
/** A consumer that is stuck again within this time after it got new connections is given up. */
const graceMs = 3 * standstillMs;

interface ProgressReporter {
  /** A consumer gets new connections. */
  readonly onStuck: (message: string) => void;
  readonly onGivenUp: (message: string) => void;
}

/** @returns a function that ends the watch */
export function watchProgress(
  consumers: readonly Working[],
  { clock, onStuck, onGivenUp }: ProgressReporter & { readonly clock: Clock },
): () => void {
  const restartedAtMs = new Map<Working, number>();
  const held = `work waits, and none was started for ${standstillMs / secondMs} s`;
  const check = async (consumer: Working): Promise<void> => {
    // While Redis is away, nothing is known about progress.
    if (await consumer.isMoving(standstillMs).catch(() => true)) return;
    const nowMs = clock.monotonicMs();
    if (nowMs - (restartedAtMs.get(consumer) ?? Number.NEGATIVE_INFINITY) < graceMs) {
      onGivenUp(`${held}, also with new connections`);
      return;
    }
    restartedAtMs.set(consumer, nowMs);
    onStuck(`${held}: connecting to the queue again`);
    await consumer.restart().catch(() => undefined);
  };
  return every(checkEveryMs, () => {
    for (const consumer of consumers) void check(consumer);
  });
}

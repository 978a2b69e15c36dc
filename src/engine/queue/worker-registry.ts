/**
 * Records which processes work on a queue. Each entry expires after a few seconds unless it is renewed, so a command
 * can check whether a worker is available. A killed process counts as alive until its entry expires.
 */
import type { Redis } from "ioredis";
import { every } from "#core/time.ts";
import type { Keys } from "#redis/keys.ts";
import { Script } from "#redis/script.ts";

const script = Script.load(new URL("./live-workers.lua", import.meta.url));
const renewMs = 1_500;

interface Entry {
  readonly queue: string;
  /** Empty: nothing is announced. */
  readonly workerId: string;
}

export type WorkerRegistry = ReturnType<typeof openWorkerRegistry>;

/** @param options `livesMs`: how long an entry is valid after its last renewal; 5,000 by default */
export function openWorkerRegistry({ redis, keys, livesMs = 5_000 }: { redis: Redis; keys: Keys; livesMs?: number }) {
  /** Keys that this process renews, all at once. */
  const announced = new Set<Entry>();
  let stopRenewing: (() => void) | undefined;

  const run = async (entries: readonly Entry[]): Promise<string[]> => {
    const places = entries.map(({ queue }) => keys.liveWorkers(queue));
    const workerIds = entries.map(({ workerId }) => workerId);
    return (await script.run(redis, places, [livesMs, ...workerIds])) as string[];
  };

  return {
    /** Registers this process as a worker of the queue until the returned function is called. */
    announce: async (queue: string, workerId: string): Promise<() => Promise<void>> => {
      const entry = { queue, workerId };
      announced.add(entry);
      await run([entry]).catch(() => undefined);
      stopRenewing ??= every(renewMs, () => void run([...announced]).catch(() => undefined));
      return async () => {
        announced.delete(entry);
        if (announced.size === 0) {
          stopRenewing?.();
          stopRenewing = undefined;
        }
        // It has been announced again meanwhile.
        if ([...announced].some((one) => one.queue === queue && one.workerId === workerId)) return;
        await redis.zrem(keys.liveWorkers(queue), workerId).catch(() => undefined);
      };
    },

    /** Ids of the processes that currently work on the queue. */
    workers: (queue: string): Promise<string[]> => run([{ queue, workerId: "" }]),
  };
}

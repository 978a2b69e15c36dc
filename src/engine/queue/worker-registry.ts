/**
 * Records which processes work on a queue. Each entry expires after a few seconds unless it is renewed, so a command can
 * check whether a worker is available. A killed process counts as alive until its entry expires.
 */
import type { Redis } from "ioredis";
import { every } from "#core/time.ts";
import type { Keys } from "#redis/keys.ts";
import { Script } from "#redis/script.ts";

const script = Script.load(new URL("./live-workers.lua", import.meta.url));
const usualLifeMs = 5_000;
const renewMs = 1_500;

interface Entry {
  readonly queue: string;
  /** Empty: nothing is announced. */
  readonly workerId: string;
}

export class WorkerRegistry {
  readonly #redis: Redis;
  readonly #keys: Keys;
  readonly #livesMs: number;
  /** Keys that this process renews, all at once. */
  readonly #announced = new Set<Entry>();
  #stopRenewing: (() => void) | undefined;

  /** @param options `livesMs`: how long an entry is valid after its last renewal; 5,000 by default */
  constructor(options: { redis: Redis; keys: Keys; livesMs?: number }) {
    this.#redis = options.redis;
    this.#keys = options.keys;
    this.#livesMs = options.livesMs ?? usualLifeMs;
  }

  /** Registers this process as a worker of the queue until the returned function is called. */
  async announce(queue: string, workerId: string): Promise<() => Promise<void>> {
    const entry = { queue, workerId };
    this.#announced.add(entry);
    await this.#run([entry]).catch(() => undefined);
    this.#stopRenewing ??= every(renewMs, () => void this.#run([...this.#announced]).catch(() => undefined));
    return async () => {
      this.#announced.delete(entry);
      if (this.#announced.size === 0) {
        this.#stopRenewing?.();
        this.#stopRenewing = undefined;
      }
      // It has been announced again meanwhile.
      if ([...this.#announced].some((one) => one.queue === queue && one.workerId === workerId)) return;
      await this.#redis.zrem(this.#keys.liveWorkers(queue), workerId).catch(() => undefined);
    };
  }

  /** Ids of the processes that currently work on the queue. */
  workers(queue: string): Promise<string[]> {
    return this.#run([{ queue, workerId: "" }]);
  }

  async #run(entries: readonly Entry[]): Promise<string[]> {
    const keys = entries.map(({ queue }) => this.#keys.liveWorkers(queue));
    return (await script.run(this.#redis, keys, [
      this.#livesMs,
      ...entries.map(({ workerId }) => workerId),
    ])) as string[];
  }
}

/**
 * Records which processes work on a queue. Each entry expires after a few seconds unless it is renewed, so a command can
 * check whether a worker is available. A killed process counts as alive until its entry expires.
 */
import type { Redis } from "ioredis";
import { every } from "#core/time.ts";
import type { Keys } from "#redis/keys.ts";
import { Script } from "#redis/script.ts";

const script = Script.load(new URL("./live-workers.lua", import.meta.url));
const livesMs = 5_000;
const renewMs = 1_500;

export class WorkerRegistry {
  readonly #redis: Redis;
  readonly #keys: Keys;

  constructor(options: { redis: Redis; keys: Keys }) {
    this.#redis = options.redis;
    this.#keys = options.keys;
  }

  /** Registers this process as a worker of the queue until the returned function is called. */
  async announce(queue: string, workerId: string): Promise<() => Promise<void>> {
    const renew = async (): Promise<unknown> => this.#run(queue, workerId).catch(() => undefined);
    await renew();
    const stop = every(renewMs, () => void renew());
    return async () => {
      stop();
      await this.#redis.zrem(this.#keys.liveWorkers(queue), workerId).catch(() => undefined);
    };
  }

  /** Ids of the processes that currently work on the queue. */
  workers(queue: string): Promise<string[]> {
    return this.#run(queue, "");
  }

  async #run(queue: string, workerId: string): Promise<string[]> {
    return (await script.run(this.#redis, [this.#keys.liveWorkers(queue)], [workerId, livesMs])) as string[];
  }
}

/**
 * Says that a process works on a queue, by a key that lives a few seconds and is renewed: so that a command can tell
 * whether somebody will do its work. A process that was killed is believed alive until its key ends.
 */
import type { Redis } from "ioredis";
import { every } from "#core/time.ts";
import type { Keys } from "#redis/keys.ts";

const livesMs = 5_000;
const renewMs = 1_500;

export class Presence {
  readonly #redis: Redis;
  readonly #keys: Keys;

  constructor(options: { redis: Redis; keys: Keys }) {
    this.#redis = options.redis;
    this.#keys = options.keys;
  }

  /** Shows this process as a worker of the queue until the returned function is called. */
  async announce(queue: string, workerId: string): Promise<() => Promise<void>> {
    const key = this.#keys.liveWorker(queue, workerId);
    const renew = async (): Promise<unknown> => this.#redis.set(key, "1", "PX", livesMs).catch(() => undefined);
    await renew();
    const stop = every(renewMs, () => void renew());
    return async () => {
      stop();
      await this.#redis.del(key).catch(() => undefined);
    };
  }

  /** Ids of the processes that work on the queue. */
  async workers(queue: string): Promise<string[]> {
    const prefix = this.#keys.liveWorker(queue, "");
    const found: string[] = [];
    const pattern = `${prefix.replace(/[*?[\]\\]/g, "\\$&")}*`;
    for await (const keys of this.#redis.scanStream({ match: pattern, count: 1_000 })) {
      found.push(...(keys as string[]).map((key) => key.slice(prefix.length)));
    }
    return found;
  }
}

/**
 * Stores for a day which request an `Idempotency-Key` belongs to and how it was answered, so that a client can repeat a
 * request whose response was lost. The key keeps the reference (a run's id) of the object being created, so a request that
 * is repeated after its process died creates the same object, or finds that it exists. A lock keeps two requests from
 * creating it at once.
 */
import type { Redis } from "ioredis";
import { SimfleetError } from "#core/errors.ts";
import { minuteMs } from "#core/time.ts";
import type { Keys } from "#redis/keys.ts";

const keepSeconds = 86_400;
/** Longest time of a request. If its process died, it can be repeated after this time. */
const lockedMs = minuteMs;

export interface Remembered {
  readonly status: number;
  readonly location: string | undefined;
  readonly body: string;
}

interface Stored {
  readonly fingerprint: string;
  readonly ref: string;
  readonly answer?: Remembered;
}

export class Idempotency {
  readonly #redis: Redis;
  readonly #keys: Keys;

  constructor({ redis, keys }: { redis: Redis; keys: Keys }) {
    this.#redis = redis;
    this.#keys = keys;
  }

  /**
   * Claims a key for a request, or returns the response that the request received before.
   * @param request `id` is derived from the caller, the route and the key; `ref` is used if the request is new
   * @throws SimfleetError IDEMPOTENCY_REUSED, IDEMPOTENCY_BUSY
   */
  async begin({ id, ...request }: { id: string; fingerprint: string; ref: string }) {
    const key = this.#keys.of("idempotency", id);
    const lock = this.#keys.of("idempotency", id, "lock");
    const isLocked = (await this.#redis.set(lock, "", "PX", lockedMs, "NX")) === "OK";
    const isNew = (await this.#redis.set(key, JSON.stringify(request), "EX", keepSeconds, "NX")) === "OK";
    const stored: Stored = isNew ? request : await this.#read(key, request);
    const release = async (): Promise<void> => void (isLocked && (await this.#redis.del(lock)));
    if (stored.fingerprint !== request.fingerprint) {
      await release();
      throw new SimfleetError(
        "IDEMPOTENCY_REUSED",
        "This Idempotency-Key was sent with another request: choose a new one",
      );
    }
    if (stored.answer !== undefined) {
      await release();
      return stored.answer;
    }
    if (!isLocked) {
      // Locked before Redis's clock was set back.
      if ((await this.#redis.pttl(lock)) > lockedMs) await this.#redis.pexpire(lock, lockedMs);
      throw new SimfleetError("IDEMPOTENCY_BUSY", "The first request with this Idempotency-Key is still in progress");
    }
    return {
      ref: stored.ref,
      /** Whether an earlier attempt may have created the object already. */
      isResumed: !isNew,
      answer: async (answer: Remembered): Promise<void> => {
        await this.#redis.set(key, JSON.stringify({ ...stored, answer }), "EX", keepSeconds);
        await release();
      },
      /** Nothing was created: frees the key as if it had never been used. */
      forget: async () => void (await this.#redis.del(key, lock)),
      /** The outcome is unknown: the request may be repeated at once, under the same reference. */
      release,
    };
  }

  /** A key that has just been freed belongs to the request. */
  async #read(key: string, request: Stored): Promise<Stored> {
    const text = await this.#redis.get(key);
    return text === null ? request : (JSON.parse(text) as Stored);
  }
}

/**
 * Stores for a day which request an `Idempotency-Key` belongs to and how it was answered, so that a client can repeat a
 * request whose response was lost. While a request is in progress, a lease holds its key. If the process dies, the key
 * keeps the reference (a run's id) of the object being created: the repeated request creates the same object under the
 * same reference, or finds that it exists.
 */
import { randomUUID } from "node:crypto";
import type { Redis } from "ioredis";
import { SimfleetError } from "#core/errors.ts";
import { every } from "#core/time.ts";
import type { Keys } from "#redis/keys.ts";
import { Script } from "#redis/script.ts";

const beginScript = Script.load(new URL("./begin-request.lua", import.meta.url));
const holdScript = Script.load(new URL("./hold-request.lua", import.meta.url));

const keepSeconds = 86_400;
const usualLeaseMs = 30_000;

/** The stored answer to a request. */
export interface Remembered {
  readonly status: number;
  readonly location: string | undefined;
  readonly body: string;
}

/** A request in progress under its key. */
export interface Claim {
  /** Id of the object that the request creates. */
  readonly ref: string;
  /** Whether an earlier attempt may have created the object already. */
  readonly isResumed: boolean;
  /** Stores the answer. */
  answer(answer: Remembered): Promise<void>;
  /** Nothing was created: frees the key as if it had never been used. */
  forget(): Promise<void>;
  /** The outcome is unknown: the request may be repeated at once, under the same reference. */
  release(): Promise<void>;
}

export class Idempotency {
  readonly #redis: Redis;
  readonly #keys: Keys;
  readonly #leaseMs: number;

  constructor(deps: { redis: Redis; keys: Keys; leaseMs?: number }) {
    this.#redis = deps.redis;
    this.#keys = deps.keys;
    this.#leaseMs = deps.leaseMs ?? usualLeaseMs;
  }

  /**
   * Claims a key for a request, or returns the answer that the request received before.
   * @param request `id` is derived from the caller, the route and the key; `ref` is used if the request is new
   * @throws SimfleetError IDEMPOTENCY_REUSED, IDEMPOTENCY_BUSY
   */
  async begin(request: { id: string; fingerprint: string; ref: string }): Promise<Claim | Remembered> {
    const key = this.#keys.of("idempotency", request.id);
    const owner = randomUUID();
    const args = [request.fingerprint, request.ref, owner, this.#leaseMs, keepSeconds];
    const [outcome, value = ""] = (await beginScript.run(this.#redis, [key], args)) as [string, string?];
    switch (outcome) {
      case "answered":
        return JSON.parse(value) as Remembered;
      case "other":
        throw new SimfleetError(
          "IDEMPOTENCY_REUSED",
          "This Idempotency-Key was sent with another request: choose a new one",
        );
      case "busy":
        throw new SimfleetError("IDEMPOTENCY_BUSY", "The first request with this Idempotency-Key is still in progress");
      default:
        return this.#claim({ key, owner, ref: value, isResumed: outcome === "taken-up" });
    }
  }

  #claim({ key, owner, ref, isResumed }: { key: string; owner: string; ref: string; isResumed: boolean }): Claim {
    const hold = (what: string, value: string | number = ""): Promise<unknown> =>
      holdScript.run(this.#redis, [key], [owner, what, value]);
    const stopRenewing = every(this.#leaseMs / 3, () => void hold("renew", this.#leaseMs).catch(() => undefined));
    const end = async (what: string, value?: string): Promise<void> => {
      stopRenewing();
      await hold(what, value);
    };
    return {
      ref,
      isResumed,
      answer: (answer) => end("answer", JSON.stringify(answer)),
      forget: () => end("forget"),
      release: () => end("release"),
    };
  }
}

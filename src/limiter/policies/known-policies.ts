/**
 * The policies that responses have shown for a bucket, such as 10 calls per second and 1,000 per hour. They are kept in the
 * store, so that another process knows them before its first call. A policy without a current count (no `RateLimit` item) is
 * used as a fixed limit.
 */
import type { Keys } from "#redis/keys.ts";
import type { PolicyReading } from "../headers/rate-limit-headers.ts";
import type { LimiterStore } from "../store.ts";

export interface Policy {
  /** Name and partition key: one quota of the API. */
  readonly id: string;
  readonly limit: number;
  readonly periodMs: number;
  /** Whether responses show what is left of it. */
  readonly isCounted: boolean;
}

/** After this long without a change, a process that starts asks again. */
const keptMs = 24 * 3_600_000;

export class KnownPolicies {
  readonly #store: LimiterStore;
  readonly #keys: Keys;
  readonly #periodMs: number;
  readonly #byBucket = new Map<string, ReadonlyMap<string, Policy>>();

  constructor(options: { store: LimiterStore; keys: Keys; periodMs: number }) {
    this.#store = options.store;
    this.#keys = options.keys;
    this.#periodMs = options.periodMs;
  }

  /** Those of a bucket, the longest period first; from the store as long as this process knows none. */
  async of(bucket: string): Promise<readonly Policy[]> {
    let known = this.#byBucket.get(bucket);
    if (known === undefined || known.size === 0) {
      const stored = await this.#store.hgetall(this.#keys.policies(bucket));
      const names = Object.entries(stored).map(([name, text]) => [name, JSON.parse(text) as Policy] as const);
      known = this.#byBucket.get(bucket) ?? new Map(names);
      if (known.size === 0) known = new Map(names);
      this.#byBucket.set(bucket, known);
    }
    return [...known.values()].toSorted((a, b) => b.periodMs - a.periodMs || (a.id < b.id ? -1 : 1));
  }

  /** @returns the policy of a reading as it is used from now on, and whether that is new */
  learn(bucket: string, reading: PolicyReading): { readonly policy: Policy; readonly isNew: boolean } {
    const known = this.#byBucket.get(bucket) ?? new Map<string, Policy>();
    const before = known.get(reading.name);
    const policy = this.#policyOf(reading, before);
    const isNew = JSON.stringify(policy) !== JSON.stringify(before);
    if (isNew) this.#byBucket.set(bucket, new Map([...known, [reading.name, policy]]));
    return { policy, isNew };
  }

  /** Stores all policies of a bucket for other processes. */
  async save(bucket: string): Promise<void> {
    const known = [...(this.#byBucket.get(bucket) ?? [])];
    if (known.length === 0) return;
    const key = this.#keys.policies(bucket);
    await this.#store.hset(key, Object.fromEntries(known.map(([name, policy]) => [name, JSON.stringify(policy)])));
    await this.#store.pexpire(key, keptMs);
  }

  #policyOf(reading: PolicyReading, before: Policy | undefined): Policy {
    const id = `${reading.name}/${reading.partitionKey}`;
    const same = before?.id === id ? before : undefined;
    const isCounted = reading.remaining !== undefined || same?.isCounted === true;
    // The call itself was one more than those that are left.
    const seen = Math.max((reading.remaining ?? 0) + 1, same?.limit ?? 0);
    const periodMs = reading.periodMs ?? same?.periodMs ?? this.#periodMs;
    return { id, limit: reading.limit ?? seen, periodMs, isCounted };
  }
}

/**
 * The inventory: each SIM of a profile as it was last seen, by a sync that read the whole list or by the answer to a
 * change of our own. It says what was, not what is: others may change a SIM at any time.
 */
import type { Redis } from "ioredis";
import type { Clock } from "#core/time.ts";
import type { Keys } from "#redis/keys.ts";

/** What is kept of a SIM. */
export interface KnownSim {
  /** Absent where the platform's record had none. */
  readonly speedClass?: string;
  /** When it was seen so, milliseconds since the Unix epoch. */
  readonly seenAtMs: number;
  readonly seenBy: "sync" | "run";
}

/** How the last sync went; a sync that was cut short goes on at its cursor. */
export interface SyncState {
  readonly startedAtMs: number;
  /** Absent while it is under way, or was cut short. */
  readonly finishedAtMs?: number;
  /** Key of the next page to read. */
  readonly cursor?: string;
  readonly pages: number;
  readonly sims: number;
}

const lookUpAtOnce = 1_000;

export class Inventory {
  readonly #redis: Redis;
  readonly #keys: Keys;
  readonly #clock: Clock;

  constructor(options: { redis: Redis; keys: Keys; clock: Clock }) {
    this.#redis = options.redis;
    this.#keys = options.keys;
    this.#clock = options.clock;
  }

  /** How many SIMs of the profile are known. */
  size(profile: string): Promise<number> {
    return this.#redis.hlen(this.#keys.inventory(profile));
  }

  async sim(profile: string, key: string): Promise<KnownSim | undefined> {
    return (await this.lookUp(profile, [key]))[0];
  }

  /** What is known of each SIM, in the order asked. */
  async lookUp(profile: string, keys: readonly string[]): Promise<(KnownSim | undefined)[]> {
    const known: (KnownSim | undefined)[] = [];
    for (let at = 0; at < keys.length; at += lookUpAtOnce) {
      const some = keys.slice(at, at + lookUpAtOnce);
      const texts = await this.#redis.hmget(this.#keys.inventory(profile), ...some);
      for (const text of texts) known.push(text === null ? undefined : (JSON.parse(text) as KnownSim));
    }
    return known;
  }

  /** Takes in what a sync has just read; what a run changes comes with its outcome (settle.lua). */
  async note(
    profile: string,
    seen: readonly { readonly key: string; readonly speedClass?: string | undefined }[],
  ): Promise<void> {
    if (seen.length === 0) return;
    const seenAtMs = this.#clock.wallMs();
    const fields = seen.map(({ key, speedClass }): [string, string] => [
      key,
      JSON.stringify({
        ...(speedClass === undefined ? {} : { speedClass }),
        seenAtMs,
        seenBy: "sync",
      } satisfies KnownSim),
    ]);
    await this.#redis.hset(this.#keys.inventory(profile), new Map(fields));
  }

  async syncState(profile: string): Promise<SyncState | undefined> {
    const text = await this.#redis.get(this.#keys.sync(profile));
    return text === null ? undefined : (JSON.parse(text) as SyncState);
  }

  async saveSyncState(profile: string, state: SyncState): Promise<void> {
    await this.#redis.set(this.#keys.sync(profile), JSON.stringify(state));
  }
}

/**
 * Records which live process uses which AuthKey, so that no AuthKey is revoked while it is in use. A process renews its
 * entry every few seconds; after a kill the entry stays valid a little longer. Times are Redis's.
 */
import type { Redis } from "ioredis";
import { every } from "#core/time.ts";
import type { Keys } from "#redis/keys.ts";
import { Script } from "#redis/script.ts";
import { redisTimeMs } from "#redis/time.ts";

/** How long an entry stays valid after the last renewal. */
export const believedMs = 10_000;
const sayEveryMs = 2_500;

export const usersScriptPart = new URL("./authkey-users.lua", import.meta.url);
const announceScript = Script.load(usersScriptPart, new URL("./announce-authkey.lua", import.meta.url));

/** Hash: process to the expiry of its entry and the AuthKey that it uses. */
export const usersKey = (keys: Keys, profile: string): string => keys.of("authkeys", profile, "users");

export interface AuthKeyUser {
  readonly worker: string;
  readonly authKeyId: string;
}

export class AuthKeyUsers {
  readonly #redis: Redis;
  readonly #keys: Keys;

  constructor(deps: { readonly redis: Redis; readonly keys: Keys }) {
    this.#redis = deps.redis;
    this.#keys = deps.keys;
  }

  /** Records the AuthKey that a process uses now; undefined for none. */
  async say(profile: string, worker: string, authKeyId: string | undefined): Promise<void> {
    await announceScript.run(this.#redis, [usersKey(this.#keys, profile)], [worker, authKeyId ?? "", believedMs]);
  }

  /**
   * Renews the entry until the process leaves.
   * @param inUse returns the AuthKey currently in use
   */
  async announce(
    profile: string,
    worker: string,
    inUse: () => string | undefined,
  ): Promise<{ readonly now: () => void; readonly leave: () => Promise<void> }> {
    let hasLeft = false;
    let said = "";
    let isSaying = false;
    const now = async (): Promise<void> => {
      // During a Redis outage only one renewal waits for it, instead of one for every interval.
      if (hasLeft || (isSaying && said === inUse())) return;
      isSaying = true;
      said = inUse() ?? "";
      await this.say(profile, worker, said === "" ? undefined : said).catch(() => undefined);
      isSaying = false;
    };
    await now();
    const stop = every(sayEveryMs, () => void now());
    return {
      now: () => void now(),
      leave: async () => {
        hasLeft = true;
        stop();
        await this.say(profile, worker, undefined).catch(() => undefined);
      },
    };
  }

  /** The live processes and the AuthKey each uses, sorted by name. */
  async list(profile: string): Promise<AuthKeyUser[]> {
    const uses = await this.#redis.hgetall(usersKey(this.#keys, profile));
    const nowMs = await redisTimeMs(this.#redis, this.#keys);
    return Object.entries(uses)
      .flatMap(([worker, use]) => {
        const [untilMs = "0", authKeyId = ""] = use.split(" ");
        return Number(untilMs) > nowMs ? { worker, authKeyId } : [];
      })
      .sort((a, b) => a.worker.localeCompare(b.worker));
  }
}

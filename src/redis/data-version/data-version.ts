/**
 * The version of what is stored in Redis. A process refuses data of a newer simfleet. Data of the layout before, whose keys
 * begin with `simfleet:` instead of `{simfleet}:`, are moved once, by the first process that finds them: it holds a lock
 * with a lease, and whoever comes after a crash continues. While an older worker is live nothing is moved, and afterward
 * tombstones keep older workers from starting.
 */
import { randomBytes } from "node:crypto";
import type { Redis } from "ioredis";
import { SimfleetError } from "#core/errors.ts";
import { type Clock, systemClock } from "#core/time.ts";
import type { Keys } from "../keys.ts";
import { Script } from "../script.ts";

/** 1 is the layout without a hash tag, which has no key for its version. */
export const dataVersion = 2;

const beginScript = Script.load(new URL("./begin-move.lua", import.meta.url));
const moveScript = Script.load(new URL("./move-keys.lua", import.meta.url));
const finishScript = Script.load(new URL("./finish-move.lua", import.meta.url));
const oldPrefix = "simfleet:";
const keysPerPage = 500;
const leaseMs = 10_000;
const askAgainMs = 100;
const longestWaitMs = 60_000;
const tombstone =
  "A newer simfleet has moved the data to keys that begin with {simfleet}: instead. Upgrade this simfleet. " +
  "Once no older simfleet is left, this key can be deleted.";

export interface DataVersionDeps {
  readonly redis: Redis;
  readonly keys: Keys;
  /** False in a cluster, where the layout before could not be used. */
  readonly mayBeOld: boolean;
  readonly clock?: Clock;
  /** Of the process that moves the data; after a crash the next one waits for its end. */
  readonly leaseMs?: number;
  /** Called after the data were moved. */
  readonly onMoved?: (moved: { readonly keys: number }) => void;
}

/**
 * Makes sure that this process can read the data.
 * @throws SimfleetError STORE_UNAVAILABLE if the data are newer, or cannot be moved now
 */
export async function ensureDataVersion(deps: DataVersionDeps): Promise<void> {
  const { redis, keys, clock = systemClock } = deps;
  if (await isCurrent(redis, keys)) return;
  const token = randomBytes(8).toString("hex");
  const endMs = clock.monotonicMs() + longestWaitMs;
  while ((await redis.set(keys.dataVersionLock(), token, "PX", deps.leaseMs ?? leaseMs, "NX")) === null) {
    if (clock.monotonicMs() > endMs) throw refusal("Another process is moving the data in Redis: try again later");
    await clock.sleep(askAgainMs);
    if (await isCurrent(redis, keys)) return;
  }
  const finish = (version: number | ""): Promise<unknown> =>
    finishScript.run(redis, [keys.dataVersionLock(), keys.dataVersion()], [token, version]);
  try {
    const moved = deps.mayBeOld ? await moveOldKeys(deps, token) : 0;
    check(await finish(dataVersion));
    if (moved > 0) deps.onMoved?.({ keys: moved });
  } catch (thrown) {
    await finish("").catch(() => undefined);
    if (!(thrown instanceof Error) || !thrown.message.startsWith("NOPERM")) throw thrown;
    throw refusal(
      "Redis holds the data of an older simfleet, and its user may not move them: add ~simfleet:* to its ACL until they are moved",
      thrown,
    );
  }
}

async function isCurrent(redis: Redis, keys: Keys): Promise<boolean> {
  const found = await redis.get(keys.dataVersion());
  if (found === null) return false;
  if (Number(found) === dataVersion) return true;
  throw refusal(
    `The data in Redis was written by a newer simfleet (data version ${found}; this one reads ${dataVersion}): upgrade this simfleet`,
  );
}

/** @returns how many keys were moved */
async function moveOldKeys(deps: DataVersionDeps, token: string): Promise<number> {
  const { redis, keys } = deps;
  if (!(await hasOldKeys(redis))) return 0;
  const pairOf = (old: string): [string, string] => [old, `${keys.prefix}:${old.slice(oldPrefix.length)}`];
  const lock = keys.dataVersionLock();
  const begun = [lock, `${oldPrefix}queues`, ...tombstones.flatMap(pairOf)];
  check(await beginScript.run(redis, begun, [token, `${oldPrefix}workers:`, tombstone]));
  let moved = 0;
  for (;;) {
    const before = moved;
    for await (const found of pagesOfOldKeys(redis)) {
      const batch = found.filter((key) => !tombstones.includes(key));
      check(await moveScript.run(redis, [lock, ...batch.flatMap(pairOf)], [token, deps.leaseMs ?? leaseMs]));
      moved += batch.length;
    }
    // A whole scan without any: nothing is left.
    if (moved === before) return moved + tombstones.length;
  }
}

/** What an older worker opens at its start, and an older command at its first write. */
const tombstones = ["queues", "runs", "events", "buckets"].map((name) => `${oldPrefix}${name}`);

async function hasOldKeys(redis: Redis): Promise<boolean> {
  for await (const found of pagesOfOldKeys(redis)) if (found.length > 0) return true;
  return false;
}

/** A page may have no key. */
async function* pagesOfOldKeys(redis: Redis): AsyncGenerator<string[]> {
  let cursor = "0";
  do {
    const [next, found] = await redis.scan(cursor, "MATCH", `${oldPrefix}*`, "COUNT", keysPerPage);
    yield found;
    cursor = next;
  } while (cursor !== "0");
}

function check(reply: unknown): void {
  const [result, what = ""] = reply as [string, string?];
  if (result === "worker") {
    throw refusal(
      `A worker of an older simfleet is running (queue ${what}): stop all of them, and start again after 5 s, so that their data can be moved`,
    );
  }
  if (result === "taken") {
    throw refusal(
      `The data of an older simfleet cannot be moved: Redis has the key ${what} already. Delete one of the two`,
    );
  }
  if (result === "lost") throw refusal("Another process has continued to move the data in Redis: try again");
}

function refusal(message: string, cause?: unknown): SimfleetError {
  return new SimfleetError("STORE_UNAVAILABLE", message, { cause });
}

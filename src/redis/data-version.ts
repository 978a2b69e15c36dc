/** The version of what is stored in Redis. A process refuses data of another version, since it would misread them. */
import type { Redis } from "ioredis";
import { SimfleetError } from "#core/errors.ts";
import type { Keys } from "./keys.ts";

const dataVersion = 3;

/** @throws SimfleetError STORE_UNAVAILABLE if the data in Redis are of another version */
export async function ensureDataVersion(redis: Redis, keys: Keys): Promise<void> {
  // Only the first process writes: commands that read work on a Redis that is full.
  let found = await redis.get(keys.dataVersion());
  if (found === null) {
    await redis.setnx(keys.dataVersion(), dataVersion);
    found = await redis.get(keys.dataVersion());
  }
  if (Number(found) === dataVersion) return;
  const isNewer = Number(found) > dataVersion;
  throw new SimfleetError(
    "STORE_UNAVAILABLE",
    `The data in Redis was written by ${isNewer ? "a newer" : "an older"} simfleet (data version ${found}; this one reads ${dataVersion}): ${isNewer ? "upgrade this simfleet" : "use an empty Redis or data directory"}`,
  );
}

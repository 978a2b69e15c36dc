/** Opens the configured Redis, or the embedded one if none is configured. */
import type { Lifecycle } from "#core/lifecycle.ts";
import type { Clock } from "#core/time.ts";
import { RedisConnections } from "./connection.ts";
import { EmbeddedRedis } from "./embedded/embedded.ts";
import type { RemoteTarget } from "./target.ts";
import type { Redis } from "ioredis";
import { SimfleetError } from "#core/errors.ts";
import type { Keys } from "./keys.ts";

/**
 * @param place the location of Redis, or the data directory of the embedded one
 * @throws SimfleetError STORE_UNAVAILABLE if the embedded server cannot be started
 */
export async function openRedis(
  place: RemoteTarget | { readonly dataDir: string },
  deps: {
    cacheDir: string;
    path: string;
    env: Readonly<Record<string, string | undefined>>;
    clock: Clock;
    lifecycle: Lifecycle;
    onError: (error: Error) => void;
  },
): Promise<RedisConnections> {
  const { lifecycle, onError } = deps;
  if (!("dataDir" in place)) {
    const connections = new RedisConnections(place, onError);
    lifecycle.onStop("Redis connections", () => connections.close());
    return connections;
  }
  const embedded = await EmbeddedRedis.attach({ dataDir: place.dataDir, ...deps });
  lifecycle.onStop("embedded Redis", () => embedded.close());
  const connections = new RedisConnections({ embedded }, onError);
  lifecycle.onStop("Redis connections", () => connections.close());
  return connections;
}

// The version of what is stored in Redis. A process rejects data of another version, since it would misread them.

const dataVersion = 4;

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

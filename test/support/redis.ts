/** The suite's Redis for one test: a key prefix of its own, and nothing left open or stored afterward. */
import { randomBytes } from "node:crypto";
import type { Redis } from "ioredis";
import { afterAll, inject } from "vitest";
import { Lifecycle } from "#core/process/lifecycle.ts";
import { redisConnections } from "#redis/connection.ts";
import { Keys } from "#redis/keys.ts";
import { redisTarget } from "./redis-target.ts";

export interface TestRedis {
  readonly redis: Redis;
  readonly keys: Keys;
  /** One more connection, closed with the others. */
  connect(): Redis;
  /** What it stops is stopped before. */
  readonly lifecycle: Lifecycle;
}

/** Call it at the top of a file or a `describe`: everything is closed after its last test. */
export function openTestRedis(): TestRedis {
  const connections = redisConnections(redisTarget(redisUrl()));
  const keys = testKeys();
  const redis = connections.connect("test");
  const lifecycle = new Lifecycle();
  afterAll(async () => {
    await lifecycle.stop();
    await removeKeys(redis, keys.prefix);
    await connections.close();
  });
  return { redis, keys, lifecycle, connect: () => connections.connect("test") };
}

/** Where the suite's Redis is, for other processes. */
export function redisUrl(): string {
  const place = inject("redis");
  if ("failure" in place) throw new Error(`There is no Redis to test with: ${place.failure}`);
  return place.url;
}

/** Keys among these that nothing else uses. */
export function keysWithin({ prefix }: Keys): Keys {
  return new Keys(`${prefix}:${randomBytes(4).toString("hex")}`);
}

/** Keys that no other test uses. */
export function testKeys(): Keys {
  return new Keys(`{t-${randomBytes(6).toString("hex")}}`);
}

async function removeKeys(redis: Redis, prefix: string): Promise<void> {
  let cursor = "0";
  do {
    const [next, found] = await redis.scan(cursor, "MATCH", `${prefix}:*`, "COUNT", 1_000);
    if (found.length > 0) await redis.unlink(...found);
    cursor = next;
  } while (cursor !== "0");
}

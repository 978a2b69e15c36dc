/** Redis's clock, which all processes share. */
import type { Redis } from "ioredis";
import type { Keys } from "./keys.ts";

/** The current time of Redis's clock, ms since the epoch. In a cluster it is the clock of the node that has the keys. */
export async function redisTimeMs(redis: Redis, keys: Keys): Promise<number> {
  const [seconds, micros] = (await redis.eval("return redis.call('TIME')", 1, keys.events())) as [string, string];
  return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
}

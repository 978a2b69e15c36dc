/** Redis's clock, which all processes share. */
import type { Redis } from "ioredis";

/** The current time of Redis's clock, ms since the epoch. */
export async function redisTimeMs(redis: Redis): Promise<number> {
  const [seconds, micros] = await redis.time();
  return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
}

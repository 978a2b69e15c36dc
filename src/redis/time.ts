/** Redis's clock, which all processes share. */
import type { Redis } from "ioredis";
import { SimfleetError } from "#core/errors.ts";
import { inTime, secondMs, systemClock } from "#core/time.ts";
import type { Keys } from "./keys.ts";
import { assertWritable } from "./refusal.ts";

/** The current time of Redis's clock, ms since the epoch. In a cluster it is the clock of the node that has the keys. */
export async function redisTimeMs(redis: Redis, keys: Keys): Promise<number> {
  const [seconds, micros] = (await redis.eval("return redis.call('TIME')", 1, keys.events())) as [string, string];
  return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
}

/** Whether Redis responds within a second. @throws SimfleetError STORE_UNAVAILABLE if it rejects writes */
export async function respondsInTime(redis: Redis, keys: Keys): Promise<boolean> {
  try {
    return (await inTime(systemClock, secondMs, assertWritable(redis, keys))) !== undefined;
  } catch (thrown) {
    if (thrown instanceof SimfleetError) throw thrown;
    return false;
  }
}

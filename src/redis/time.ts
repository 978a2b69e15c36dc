/** Redis's clock, which all processes share. */
import type { Redis } from "ioredis";
import { SimfleetError } from "#core/errors.ts";
import type { Clock } from "#core/time.ts";
import type { Keys } from "./keys.ts";
import { assertWritable } from "./refusal.ts";

/** The current time of Redis's clock, ms since the epoch. In a cluster it is the clock of the node that has the keys. */
export async function redisTimeMs(redis: Redis, keys: Keys): Promise<number> {
  const [seconds, micros] = (await redis.eval("return redis.call('TIME')", 1, keys.events())) as [string, string];
  return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
}

/** Whether Redis responds within a time. @throws SimfleetError STORE_UNAVAILABLE if it refuses writes */
export async function respondsInTime(
  redis: Redis,
  { keys, clock, withinMs }: { keys: Keys; clock: Clock; withinMs: number },
): Promise<boolean> {
  const late = new AbortController();
  try {
    return await Promise.race([
      assertWritable(redis, keys).then(() => true),
      clock.sleep(withinMs, late.signal).then(() => false),
    ]);
  } catch (thrown) {
    if (thrown instanceof SimfleetError) throw thrown;
    return false;
  } finally {
    late.abort();
  }
}

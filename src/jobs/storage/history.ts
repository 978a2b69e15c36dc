/** Redis's memory over time: one measurement an hour, kept for a month. */
import type { Redis } from "ioredis";
import type { Keys } from "#redis/keys.ts";

const dayMs = 86_400_000;
const keptMs = 30 * dayMs;
/** Growth is that of the last week. */
const windowMs = 7 * dayMs;

interface Deps {
  readonly redis: Redis;
  readonly keys: Keys;
}

export async function recordUsage(
  { redis, keys }: Deps,
  { atMs, usedBytes }: { readonly atMs: number; readonly usedBytes: number },
): Promise<void> {
  await redis.zadd(keys.storageHistory(), atMs, `${atMs} ${usedBytes}`);
  await redis.zremrangebyscore(keys.storageHistory(), "-inf", `(${atMs - keptMs}`);
}

/** Bytes per day, negative if it shrinks; null if it was measured for less than a day. */
export async function growthPerDay({ redis, keys }: Deps, nowMs: number): Promise<number | null> {
  const members = await redis.zrangebyscore(keys.storageHistory(), nowMs - windowMs, "+inf");
  const points = members.map((member) => member.split(" ").map(Number) as [number, number]);
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined || last[0] - first[0] < dayMs) return null;
  return ((last[1] - first[1]) / (last[0] - first[0])) * dayMs;
}

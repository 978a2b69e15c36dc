/** How much memory Redis uses, and how much it may use. */
import type { Redis } from "ioredis";
import type { Keys } from "./keys.ts";

/** Bytes. */
export interface RedisMemory {
  readonly usedBytes: number;
  /** Redis rejects writes beyond it: `maxmemory`, or the machine's memory if none is set. */
  readonly limitBytes: number;
  readonly limitFrom: "maxmemory" | "machine";
}

/** The memory of the node that has simfleet's keys; in a cluster, INFO alone would ask any node. */
export async function redisMemory(redis: Redis, keys: Keys): Promise<RedisMemory> {
  const info = String(await redis.eval("return redis.call('INFO', 'memory')", 1, keys.dataVersion()));
  const numberOf = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, "m").exec(info)?.[1] ?? 0);
  const maxmemory = numberOf("maxmemory");
  const limitBytes = maxmemory > 0 ? maxmemory : numberOf("total_system_memory");
  return { usedBytes: numberOf("used_memory"), limitBytes, limitFrom: maxmemory > 0 ? "maxmemory" : "machine" };
}

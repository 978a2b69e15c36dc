/** How much memory Redis uses, and how much it may use. */
import type { Redis } from "ioredis";

/** Bytes. */
export interface RedisMemory {
  readonly usedBytes: number;
  /** Redis refuses writes beyond it: `maxmemory`, or the machine's memory if none is set. */
  readonly limitBytes: number;
  readonly limitFrom: "maxmemory" | "machine";
}

export async function redisMemory(redis: Redis): Promise<RedisMemory> {
  const info = await redis.info("memory");
  const numberOf = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, "m").exec(info)?.[1] ?? 0);
  const maxmemory = numberOf("maxmemory");
  const limitFrom = maxmemory > 0 ? "maxmemory" : "machine";
  const limitBytes = maxmemory > 0 ? maxmemory : numberOf("total_system_memory");
  return { usedBytes: numberOf("used_memory"), limitBytes, limitFrom };
}

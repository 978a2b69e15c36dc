/** How much memory Redis uses, and how much it may use. */
import type { Redis } from "ioredis";
import type { Keys } from "./keys.ts";
import { Script } from "./script.ts";

const script = Script.load(new URL("./memory.lua", import.meta.url));

/** Bytes. */
export interface RedisMemory {
  readonly usedBytes: number;
  /** Redis rejects writes beyond it: `maxmemory`, or the machine's memory if none is set. */
  readonly limitBytes: number;
  readonly limitFrom: "maxmemory" | "machine";
}

/** The memory of the node that has simfleet's keys. */
export async function redisMemory(redis: Redis, keys: Keys): Promise<RedisMemory> {
  const info = (await script.run(redis, [keys.dataVersion()], [])) as string;
  const numberOf = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, "m").exec(info)?.[1] ?? 0);
  const maxmemory = numberOf("maxmemory");
  const limitFrom = maxmemory > 0 ? "maxmemory" : "machine";
  const limitBytes = maxmemory > 0 ? maxmemory : numberOf("total_system_memory");
  return { usedBytes: numberOf("used_memory"), limitBytes, limitFrom };
}

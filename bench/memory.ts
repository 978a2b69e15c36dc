/** Memory as the kernel, Node.js and Redis count it. */
import { readFile } from "node:fs/promises";
import type { Redis } from "ioredis";
import { runSimfleet } from "./simfleet-process.ts";

/** Bytes, as `process.memoryUsage()` has them. */
export interface MemoryCounts {
  readonly heapUsed: number;
  readonly heapTotal: number;
  readonly external: number;
  readonly arrayBuffers: number;
}

/** The line that `tell-memory.mjs` writes. */
export interface MemoryReport {
  readonly memoryReport: { readonly now: MemoryCounts; readonly most: MemoryCounts };
}

/** Runs a command to its end; `peakMegabytes` is the most memory that its process had at once. */
export async function runMeasured(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<{ out: string; peakMegabytes: number }> {
  let peakMegabytes = 0;
  const out = await runSimfleet(args, env, async (pid) => {
    // What the kernel keeps is the peak already; the last look before the end counts.
    const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
    const kilobytes = Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0);
    peakMegabytes = Math.max(peakMegabytes, kilobytes / 1_024);
  });
  return { out, peakMegabytes };
}

export async function usedMemory(redis: Redis): Promise<number> {
  return Number(/used_memory:(\d+)/.exec(await redis.info("memory"))?.[1]);
}

/** Bytes of all keys that match a pattern, every element counted. */
export async function bytesOfKeys(redis: Redis, pattern: string): Promise<number> {
  let bytes = 0;
  let cursor = "0";
  do {
    const [next, keys] = await redis.scan(cursor, "MATCH", pattern, "COUNT", 1_000);
    for (const key of keys) bytes += (await redis.memory("USAGE", key, "SAMPLES", 0)) ?? 0;
    cursor = next;
  } while (cursor !== "0");
  return bytes;
}

/** Memory and CPU time, as reported by the kernel, Node.js and Redis. */
import { readFile } from "node:fs/promises";
import type { Redis } from "ioredis";
import { runSimfleet } from "./simfleet-process.ts";

export interface Measured {
  readonly out: string;
  /** Peak memory of the process. */
  readonly peakMegabytes: number;
  /** CPU time of the process in seconds, accurate to a few hundredths. */
  readonly cpuSeconds: number;
}

/** Runs a command, or another program, until it ends. */
export async function runMeasured(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  program?: string,
): Promise<Measured> {
  let peakMegabytes = 0;
  let cpuSeconds = 0;
  const poll = async (pid: number): Promise<void> => {
    // The kernel's value is already the peak; the last poll before the end counts.
    peakMegabytes = Math.max(peakMegabytes, await peakMegabytesOf(pid));
    cpuSeconds = Math.max(cpuSeconds, await cpuSecondsOf(pid));
  };
  const out = await runSimfleet(args, env, poll, program);
  return { out, peakMegabytes, cpuSeconds };
}

/** Peak memory of a process so far; 0 if it has ended. */
export async function peakMegabytesOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1_024;
}

/** CPU time of a process so far; 0 if it has ended. */
export async function cpuSecondsOf(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  // After the name, which may contain spaces: state, …, user and system time as fields 11 and 12.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / ticksPerSecond;
}

const ticksPerSecond = 100;

/** CPU time of Redis so far. */
export async function cpuSecondsOfRedis(redis: Redis): Promise<number> {
  const info = await redis.info("cpu");
  const of = (name: string): number => Number(new RegExp(`${name}:([0-9.]+)`).exec(info)?.[1] ?? 0);
  return of("used_cpu_user") + of("used_cpu_sys");
}

export async function usedMemory(redis: Redis): Promise<number> {
  return Number(/used_memory:(\d+)/.exec(await redis.info("memory"))?.[1]);
}

/** Bytes of all keys that match a pattern, counting every element. */
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

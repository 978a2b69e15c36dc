/**
 * The node of Redis that has simfleet's keys: its clock, which all processes share, its memory, and in the words of an
 * operator why it rejects commands (full, read-only, a user without permission). Errors caused by simfleet itself (a
 * wrong command, a wrong type) are not among these. In a cluster, only a command with a key asks this node.
 */
import type { Redis } from "ioredis";
import { SimfleetError } from "#core/errors.ts";
import { inTime, secondMs, systemClock } from "#core/time.ts";
import type { Keys } from "./keys.ts";

/** The current time of Redis's clock, ms since the epoch. */
export async function redisTimeMs(redis: Redis, keys: Keys): Promise<number> {
  const [seconds, micros] = (await redis.eval("return redis.call('TIME')", 1, keys.events())) as [string, string];
  return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
}

export type RedisMemory = Readonly<Awaited<ReturnType<typeof redisMemory>>>;

export async function redisMemory(redis: Redis, keys: Keys) {
  const info = String(await redis.eval("return redis.call('INFO', 'memory')", 1, keys.dataVersion()));
  const parseNumber = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, "m").exec(info)?.[1] ?? 0);
  const maxmemory = parseNumber("maxmemory");
  const limitFrom: "maxmemory" | "machine" = maxmemory > 0 ? "maxmemory" : "machine";
  /** Redis rejects writes beyond it: `maxmemory`, or the machine's memory if none is set. */
  const limitBytes = maxmemory > 0 ? maxmemory : parseNumber("total_system_memory");
  return { usedBytes: parseNumber("used_memory"), limitBytes, limitFrom };
}

/** The prefix of an error, and its fix. */
const hints: Readonly<Record<string, string>> = {
  OOM: "it is full: raise its maxmemory, or delete data",
  MISCONF: "it cannot save its data: make room on its disk, or make it writable",
  READONLY: "it is a replica: SIMFLEET_REDIS_URL has to name the primary",
  NOPERM: "its user may not do this: docs/redis.md has the ACL that simfleet needs",
  NOAUTH: "it requires a password: set SIMFLEET_REDIS_PASSWORD_FILE",
  WRONGPASS: "it does not accept the password: check SIMFLEET_REDIS_PASSWORD_FILE",
  LOADING: "it is still loading its data: try again when it is done",
  MASTERDOWN: "its primary is unavailable",
  NOREPLICAS: "too few of its replicas are connected",
};

/** @returns a SimfleetError STORE_UNAVAILABLE if Redis rejected the command; any other error unchanged */
export function inWordsOfRedis(thrown: unknown): unknown {
  if (!(thrown instanceof Error) || thrown.name !== "ReplyError") return thrown;
  // A transaction fails with EXECABORT, and lists the errors of its commands separately.
  const { previousErrors = [] } = thrown as { readonly previousErrors?: readonly Error[] };
  const reasons = [thrown, ...previousErrors].map(({ message }) => message);
  for (const reason of reasons) {
    const fix = hints[reason.split(" ", 1)[0] ?? ""];
    if (fix === undefined) continue;
    return new SimfleetError("STORE_UNAVAILABLE", `Redis rejects commands: ${fix} (${reason})`, { cause: thrown });
  }
  return thrown;
}

/** Removes a missing key, a write. @throws SimfleetError STORE_UNAVAILABLE if Redis rejects it, as on a full disk */
export async function assertWritable(redis: Redis, keys: Keys): Promise<void> {
  await redis.unlink(keys.of("probe")).catch((thrown: unknown) => Promise.reject(inWordsOfRedis(thrown) as Error));
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

/** Whether Redis has room for a run. A run is refused as a whole before any of its calls, never stored in part. */
import { SimfleetError } from "#core/errors.ts";
import type { RedisMemory } from "#redis/memory.ts";

/** Bytes of a row: its input and its outcome, and its outcome alone (npm run bench:million -- --run). */
const bytesPerRow = { rows: 50, outcomes: 35 };
/** The records of the run, its jobs and its segments in progress. */
const bytesPerRun = 256 * 1_024;

/** @throws SimfleetError STORE_FULL if Redis has a limit and too little is left */
export function assertRoom(rows: number, memory: RedisMemory, what: keyof typeof bytesPerRow): void {
  const { usedBytes, limitBytes, limitFrom } = memory;
  if (limitFrom === "machine") return; // other programs use it too, so that it says little
  if (limitBytes - usedBytes < bytesPerRun + rows * bytesPerRow[what]) throw outOfRoom(rows, memory);
}

export function outOfRoom(rows: number, { usedBytes, limitBytes }: RedisMemory): SimfleetError {
  const left = Math.max(0, limitBytes - usedBytes);
  return new SimfleetError(
    "STORE_FULL",
    `Redis has ${megabytes(left)} of ${megabytes(limitBytes)} left, too little for a run of ${rows} rows: nothing was started. ` +
      "Raise its maxmemory, or delete old runs with simfleet runs delete; simfleet storage shows what uses the memory",
  );
}

/** Whether Redis refused a write because it is full. */
export function isRefusedForMemory(thrown: unknown): boolean {
  return thrown instanceof Error && thrown.name === "ReplyError" && /\bOOM\b/.test(thrown.message);
}

function megabytes(bytes: number): string {
  return `${(bytes / 1_048_576).toFixed(1)} MB`;
}

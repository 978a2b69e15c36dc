/**
 * The bytes that each SIM has used in the current day and month (UTC). They are kept next to the records, by ordinal:
 * they change with every export for nearly all SIMs, which is no change of the fleet, and no list of SIMs shows them. A
 * string has 8 bytes for each SIM (a little-endian double), and Redis removes it when its day or month has ended.
 */
import { randomUUID } from "node:crypto";
import type { StoreDeps } from "#engine/move-record.ts";
import { inventoryKeys } from "./keys.ts";

export const usagePeriods = ["day", "month"] as const;
export type UsagePeriod = (typeof usagePeriods)[number];
/** Names in filters, lists and exports. */
export const usageFields = usagePeriods.map((period) => `usage.${period}`);

type Deps = Pick<StoreDeps, "redis" | "keys">;

const bytesPerSim = 8;
const bytesAtOnce = 2 ** 18;
/** SIMs whose usage is read in one piece. */
const simsPerPiece = 256;

/**
 * Replaces the usage of all SIMs.
 * @param values bytes by ordinal
 * @param endMs when the period ends
 */
export async function writeUsage(
  deps: Deps,
  inventory: string,
  { period, values, endMs }: { period: UsagePeriod; values: Float64Array; endMs: number },
): Promise<void> {
  const { redis } = deps;
  const keys = inventoryKeys(deps.keys);
  const key = keys.usage(inventory, period);
  // Another process can write as well.
  const written = `${key}:${randomUUID()}`;
  const bytes = Buffer.from(values.buffer);
  // The client copies what it sends.
  await redis.set(written, "", "EX", 3_600);
  for (let at = 0; at < bytes.length; at += bytesAtOnce) {
    await redis.setrange(written, at, bytes.subarray(at, at + bytesAtOnce));
  }
  await redis.pexpireat(written, endMs);
  // It is gone already if its period ended during the export.
  if ((await redis.exists(written)) === 1) await redis.rename(written, key);
  await redis.hset(keys.head(inventory), "usage", "1");
  // What is in no record has no bitmap (index.lua): filters look at each SIM.
  await redis.hset(keys.index(inventory), ...["usage", ...usageFields].flatMap((field) => [field, "-"]));
}

/** The records of SIMs, each with a line for each value of its usage, as sim-record.ts has them. */
export async function withUsage(deps: Deps, inventory: string, sims: readonly string[]): Promise<(string | null)[]> {
  const { redis } = deps;
  const keys = inventoryKeys(deps.keys);
  const stored = usagePeriods.map((period) => keys.usage(inventory, period));
  const [records, present] = await Promise.all([
    redis.hmget(keys.records(inventory), ...sims),
    redis.exists(...stored),
  ]);
  if (present === 0) return records;
  const ordinals = records.map((record) => (record === null ? -1 : Number.parseInt(record, 10)));
  const lines = new Map<number, string>();
  const read = async (key: string, field: string, piece: number, wanted: readonly number[]): Promise<void> => {
    const first = piece * simsPerPiece;
    const end = (first + simsPerPiece) * bytesPerSim;
    const bytes = await redis.getrangeBuffer(key, first * bytesPerSim, end - 1);
    const values = new Float64Array(new Uint8Array(bytes).buffer);
    for (const ordinal of wanted) {
      const value = values[ordinal - first];
      if (value !== undefined) lines.set(ordinal, `${lines.get(ordinal) ?? ""}\n${field}:${value}`);
    }
  };
  const known = new Set(ordinals.filter((ordinal) => ordinal >= 0));
  const pieces = [...Map.groupBy(known, (ordinal) => Math.floor(ordinal / simsPerPiece))];
  await Promise.all(stored.flatMap((key, i) => pieces.map((piece) => read(key, usageFields[i] ?? "", ...piece))));
  return records.map((record, nth) => record && record + (lines.get(ordinals[nth] ?? -1) ?? ""));
}

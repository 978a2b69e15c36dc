/**
 * The storage format of rows and outcomes in Redis: JSON arrays, deflated by segment. It takes about a tenth of the memory
 * of a hash per row. The format depends on the order of the fields; append new fields at the end.
 */
import { deflateRawSync, inflateRawSync } from "node:zlib";
import type { Outcome, RowProblem } from "#fleet/run.ts";

/** One row of a submitted run. */
export interface StoredRow {
  readonly index: number;
  readonly line: number;
  readonly key: string;
  readonly speedClass: string;
  readonly cells: readonly string[];
  /** Why the intake rejected the row; no call is made for it. */
  readonly problem?: Pick<RowProblem, "code" | "message">;
  /** Index of the earlier row with the same SIM and class, whose call serves this row too. */
  readonly duplicateOf?: number;
  /** Number of rows that share this row's outcome, itself included. */
  readonly weight: number;
  /** Speed class that the inventory showed when the run was submitted. */
  readonly speedClassBefore?: string;
  /** Why the row is skipped without a call. */
  readonly skipped?: string;
  /** The row is also skipped if its SIM turns out to have a class other than this one. */
  readonly onlyFrom?: string;
}

/** Final outcome of a row. */
export interface Settled {
  readonly outcome: Exclude<Outcome, "pending" | "cancelled">;
  readonly reason: string;
  readonly previousSpeedClass: string;
  readonly attempts: number;
  readonly finishedAtMs: number;
}

/** Attempts of a row that is not settled yet. */
export interface Tries {
  readonly attempts: number;
  readonly reason: string;
  /** When a call was sent whose response was lost: the change may have been applied. */
  readonly unknownSinceMs?: number;
}

/** A note for a row that ends while the effect of a call is unknown; empty if there is no such call. */
export function doubtOf(tries: Pick<Tries, "unknownSinceMs"> | undefined): string {
  return tries?.unknownSinceMs === undefined ? "" : "; an answer was lost, so the change may have been made";
}

type RowTuple = [
  line: number,
  key: string,
  speedClass: string,
  cells: readonly string[],
  weight?: number,
  before?: string,
  duplicateOf?: number,
  code?: string,
  message?: string,
  onlyFrom?: string,
];

/** These take the place of a problem's code. */
const skippedMark = "=";
const noMark = "";

/** Whether a row makes a call of its own. */
export function isCallable(row: StoredRow): boolean {
  return row.problem === undefined && row.duplicateOf === undefined && row.skipped === undefined;
}

export function packRows(rows: readonly StoredRow[]): Buffer {
  const tuples = rows.map((row): RowTuple => {
    const tuple: RowTuple = [row.line, row.key, row.speedClass, row.cells];
    const rest = [row.weight, row.speedClassBefore ?? "", row.duplicateOf ?? -1] as const;
    if (row.skipped !== undefined) tuple.push(...rest, skippedMark, row.skipped);
    else if (row.problem !== undefined) tuple.push(...rest, row.problem.code, row.problem.message);
    else if (row.onlyFrom !== undefined) tuple.push(...rest, noMark, "", row.onlyFrom);
    else if (row.duplicateOf !== undefined) tuple.push(...rest);
    else if (row.speedClassBefore !== undefined) tuple.push(row.weight, row.speedClassBefore);
    else if (row.weight !== 1) tuple.push(row.weight);
    return tuple;
  });
  return deflateRawSync(JSON.stringify(tuples));
}

export function unpackRows(packed: Buffer, firstIndex: number): StoredRow[] {
  const tuples = JSON.parse(inflateRawSync(packed).toString("utf8")) as RowTuple[];
  return tuples.map(([line, key, speedClass, cells, weight, before, duplicateOf, code, message, onlyFrom], i) => ({
    index: firstIndex + i,
    line,
    key,
    speedClass,
    cells,
    weight: weight ?? 1,
    ...(before ? { speedClassBefore: before } : {}),
    ...(duplicateOf !== undefined && duplicateOf >= 0 ? { duplicateOf } : {}),
    ...(onlyFrom === undefined ? {} : { onlyFrom }),
    ...(code === skippedMark ? { skipped: message ?? "" } : {}),
    ...(code === undefined || code === skippedMark || code === noMark
      ? {}
      : { problem: { code: code as RowProblem["code"], message: message ?? "" } }),
  }));
}

/** Abbreviations of outcomes in Redis. */
export const outcomeLetters = { done: "d", skipped: "s", rejected: "r", failed: "f" } as const;
const outcomeOfLetter = { d: "done", s: "skipped", r: "rejected", f: "failed" } as const;
type SettledTuple = [keyof typeof outcomeOfLetter, string, string, number, number];

export function encodeSettled(settled: Settled): string {
  const { outcome, reason, previousSpeedClass, attempts, finishedAtMs } = settled;
  return JSON.stringify([outcomeLetters[outcome], reason, previousSpeedClass, attempts, finishedAtMs]);
}

export function decodeSettled(text: string): Settled {
  const [letter, reason, previousSpeedClass, attempts, finishedAtMs] = JSON.parse(text) as SettledTuple;
  return { outcome: outcomeOfLetter[letter], reason, previousSpeedClass, attempts, finishedAtMs };
}

/** Packs all outcomes of a segment, keyed by the rows' position in it. */
export function packOutcomes(outcomes: ReadonlyMap<number, string>): Buffer {
  const entries = [...outcomes].toSorted(([a], [b]) => a - b);
  return deflateRawSync(`[${entries.map(([place, record]) => `[${place},${record}]`).join(",")}]`);
}

export function unpackOutcomes(packed: Buffer): Map<number, Settled> {
  const entries = JSON.parse(inflateRawSync(packed).toString("utf8")) as [number, SettledTuple][];
  return new Map(entries.map(([place, tuple]) => [place, decodeSettled(JSON.stringify(tuple))]));
}

/**
 * How rows and outcomes lie in Redis: JSON arrays, deflated by segment, about a tenth of what a hash per row would take.
 * The order of the fields is the format; a field that is added goes to the end.
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
  /** Why no call is made for it: it was rejected by the intake. */
  readonly problem?: Pick<RowProblem, "code" | "message">;
  /** Row that makes the call for this one too: an earlier row with the same SIM and class. */
  readonly duplicateOf?: number;
  /** How many rows get this row's outcome, itself included. */
  readonly weight: number;
  /** Speed class that the inventory showed when the run was submitted. */
  readonly speedClassBefore?: string;
  /** No call is made for it, and why. */
  readonly skipped?: string;
  /** No call is made for it either when its SIM turns out to have another class than this one. */
  readonly onlyFrom?: string;
}

/** Outcome of a row as it was settled, once and for all. */
export interface Settled {
  readonly outcome: Exclude<Outcome, "pending" | "cancelled">;
  readonly reason: string;
  readonly previousSpeedClass: string;
  readonly attempts: number;
  readonly finishedAtMs: number;
}

/** What is known of a row's tries before it is settled. */
export interface Tries {
  readonly attempts: number;
  readonly reason: string;
  /** A call went out whose answer was lost, at this instant: the change may have been made. */
  readonly unknownSinceMs?: number;
}

/** What is to be said besides of a row that ends without knowing what became of a call; empty where nothing is. */
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

/** Stand where a problem's code would. */
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

/** Short for an outcome, in Redis. */
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

/** Packs all outcomes of a segment, by the rows' place in it. */
export function packOutcomes(outcomes: ReadonlyMap<number, string>): Buffer {
  const entries = [...outcomes].toSorted(([a], [b]) => a - b);
  return deflateRawSync(`[${entries.map(([place, record]) => `[${place},${record}]`).join(",")}]`);
}

export function unpackOutcomes(packed: Buffer): Map<number, Settled> {
  const entries = JSON.parse(inflateRawSync(packed).toString("utf8")) as [number, SettledTuple][];
  return new Map(entries.map(([place, tuple]) => [place, decodeSettled(JSON.stringify(tuple))]));
}

/** The nouns of a bulk change: run, row, segment, outcome and tally, in the words that users see. */

export const runStates = ["awaiting-approval", "running", "paused", "completed", "aborted", "cancelled"] as const;
export type RunState = (typeof runStates)[number];

export function isRunOver(state: RunState): boolean {
  return state === "completed" || state === "aborted" || state === "cancelled";
}

/** Over with every outcome in: calls that were out when it was cut short have ended, and no count changes any more. */
export function isRunSettled({ state, counts }: { readonly state: RunState; readonly counts: Tally }): boolean {
  return isRunOver(state) && counts.pending === 0;
}

/** What became of a row; `pending` until one of the others is settled, once and for all. */
export const outcomes = ["done", "skipped", "rejected", "failed", "cancelled", "pending"] as const;
export type Outcome = (typeof outcomes)[number];

/** Counts of rows by outcome; they always add up to `total`. */
export interface Tally {
  readonly total: number;
  readonly done: number;
  readonly skipped: number;
  readonly rejected: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly pending: number;
}

/** A limit on failures: a number of rows, or a percentage of the rows that make a call. */
export type FailureLimit = { readonly rows: number } | { readonly percent: number };

/** What the person who submits a run can ask for. */
export interface RunOptions {
  /** Go on with the valid rows of a file that has invalid ones. */
  readonly partial: boolean;
  /** Spend no call on a SIM that the inventory already shows with the wanted class. */
  readonly skipUnchanged: boolean;
  /** Abort once more rows than this were rejected by the platform or failed. */
  readonly maxFailures?: FailureLimit;
  /** Work on this many rows first and go on only if all of them hold. */
  readonly canary?: number;
  /** Calls per minute at most, below what the quota allows. */
  readonly callsPerMinute?: number;
}

/** One row of an input file as the intake sees it. Rows are numbered from 0 in the order of the file. */
export interface Row {
  readonly index: number;
  /** Line of the file on which the row begins, counted from 1; the header is usually line 1. */
  readonly line: number;
  /** All cells as they came, in the order of the header. */
  readonly cells: readonly string[];
  /** The SIM's key, trimmed; empty where the row is invalid and has none. */
  readonly key: string;
  /** The wanted speed class, trimmed; empty where the row is invalid and has none. */
  readonly speedClass: string;
  /** Why the row can never be sent; absent on a good row. */
  readonly problem?: RowProblem;
}

/** A reason to reject a row before any call: stable code, the column at fault, a sentence for people. */
export interface RowProblem {
  readonly code: RowProblemCode;
  readonly column: string;
  readonly message: string;
}

export const rowProblemCodes = [
  "cell-count",
  "key-empty",
  "key-spreadsheet",
  "key-invalid",
  "class-empty",
  "class-invalid",
  "conflict",
] as const;
export type RowProblemCode = (typeof rowProblemCodes)[number];

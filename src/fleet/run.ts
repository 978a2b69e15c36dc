/** The terms of a bulk change, as users see them: run, row, segment, outcome and tally. */
import { type WrittenWaves, wavesOf } from "./waves.ts";

/** The states of a run that has been started. */
export const startedStates = ["awaiting-approval", "running", "paused", "completed", "aborted", "cancelled"] as const;
/** `planned`: its rows are stored for an hour, and it can be started. */
export const runStates = ["planned", ...startedStates] as const;
export type RunState = (typeof runStates)[number];

export function isRunOver(state: RunState): boolean {
  return state === "completed" || state === "aborted" || state === "cancelled";
}

/** Finished, with all outcomes recorded: calls in flight when it was interrupted have ended, and counts are final. */
export function isRunSettled({ state, counts }: { readonly state: RunState; readonly counts: Tally }): boolean {
  return isRunOver(state) && counts.pending === 0;
}

/**
 * The outcome of a row; `pending` until one of the others is recorded, which is final. `unknown`: sent once, response
 * lost, not safe to repeat.
 */
export const outcomes = ["done", "skipped", "rejected", "failed", "unknown", "cancelled", "pending"] as const;
export type Outcome = (typeof outcomes)[number];

/** Counts of rows by outcome; they always add up to `total`. */
export type Tally = Readonly<Record<Outcome | "total", number>>;

/** A limit on failures: a number of rows, or a percentage of the rows that make a call. */
function failureLimitOf(written: number | string) {
  const amount = Number.parseFloat(String(written));
  return String(written).endsWith("%") ? { percent: amount } : { rows: amount };
}

/** Options of a run as users write them, in a request or in the configuration. */
interface WrittenOptions extends WrittenWaves {
  /** Process the valid rows of a file that has invalid ones. */
  readonly partial?: boolean | undefined;
  /**
   * Skip SIMs that the operation would not change, according to the inventory. Absent: those whose record is younger
   * than a day, unless another run of the account is in progress.
   */
  readonly skipUnchanged?: boolean | undefined;
  /** Abort once more rows than this were rejected by the platform or failed. */
  readonly maxFailures?: number | string | undefined;
  /** Maximum calls per minute, below the quota. */
  readonly rate?: number | undefined;
}

/** @throws SimfleetError USAGE for waves that cannot be read or do not fit together */
export function runOptionsOf(written: WrittenOptions) {
  const { partial = false, skipUnchanged, maxFailures, rate: callsPerMinute } = written;
  const limit = maxFailures === undefined ? undefined : failureLimitOf(maxFailures);
  return { partial, skipUnchanged, maxFailures: limit, waves: wavesOf(written), callsPerMinute };
}

type AllOptions = ReturnType<typeof runOptionsOf>;

/** Options of a run. */
export type RunOptions = Pick<AllOptions, "partial"> & Readonly<Partial<AllOptions>>;

/** One parsed row of an input file. Rows are numbered from 0 in file order. */
export interface Row {
  readonly index: number;
  /** Line of the file on which the row starts, counted from 1; the header is usually line 1. */
  readonly line: number;
  /** All cells, unmodified, in header order. */
  readonly cells: readonly string[];
  /** The SIM's key, trimmed; empty if the row is invalid and has none. */
  readonly key: string;
  /** Canonical texts in the order of the operation's inputs; none if the row is invalid. */
  readonly inputs: readonly string[];
  /** Why the row can never be sent; absent on a valid row. */
  readonly problem?: RowProblem | undefined;
  /** Index of the first row with the same SIM, whose call and outcome this row shares unless they are in conflict. */
  readonly duplicateOf?: number | undefined;
}

/** Why a row is rejected before any call: a stable code, the column at fault, a message for people. */
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
  "value-missing",
  "value-invalid",
  "conflict",
  "rejected",
] as const;
export type RowProblemCode = (typeof rowProblemCodes)[number];

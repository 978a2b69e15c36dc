/** The rows of a run by outcome, as shares of a bar, and the actions that its state allows. */
import { type Outcome, type RunReport, type RunState, type Tally, outcomes } from "../shapes.ts";

export function settledRows(counts: Tally): number {
  return counts.total - counts.pending;
}

/** Outcomes with at least one row, with their share of all rows, 0 to 1. */
export function segmentsOf(
  counts: Tally,
): { readonly outcome: Outcome; readonly rows: number; readonly share: number }[] {
  return outcomes
    .map((outcome) => ({
      outcome,
      rows: counts[outcome],
      share: counts.total === 0 ? 0 : counts[outcome] / counts.total,
    }))
    .filter(({ rows }) => rows > 0);
}

export function isOver(state: RunState): boolean {
  return state === "completed" || state === "aborted" || state === "cancelled";
}

interface Deciding extends Pick<RunReport, "state" | "counts"> {
  readonly hasUndo: boolean;
}

export type RunAction = "approve" | "pause" | "resume" | "cancel" | "retry" | "undo";

/** Rows that a retry includes: rejected rows would be rejected again, and unknown ones may be done. */
function retriedRows({ failed, cancelled }: Tally): number {
  return failed + cancelled;
}

/** The actions that the run's state allows. An undo needs an operation that has one. */
export function actionsFor({ state, counts, hasUndo }: Deciding): RunAction[] {
  if (state === "planned") return [];
  if (state === "awaiting-approval") return ["approve", "cancel"];
  if (state === "running") return ["pause", "cancel"];
  if (state === "paused") return ["resume", "cancel"];
  return [
    ...(retriedRows(counts) > 0 ? (["retry"] as const) : []),
    ...(hasUndo && counts.done > 0 ? (["undo"] as const) : []),
  ];
}

/** The rows of a run by outcome, as shares of a bar, and the actions that its state allows. */
import { type Outcome, type RunReport, type RunState, type Tally, outcomes } from "./shapes.ts";

export const outcomeWords: Readonly<Record<Outcome, string>> = {
  done: "done",
  skipped: "already as requested",
  rejected: "will never work as they are",
  failed: "given up after every try",
  unknown: "sent once, answer lost; not sent again",
  cancelled: "not done, the run was stopped",
  pending: "still to do",
};

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

export type RunAction = "approve" | "pause" | "resume" | "cancel" | "retry" | "undo";

/** Rows that a retry includes: rejected rows would be rejected again. */
export function retriedRows({ failed, cancelled }: Tally): number {
  return failed + cancelled;
}

/** The actions that the run's state allows. */
export function actionsFor({ state, counts }: Pick<RunReport, "state" | "counts">): RunAction[] {
  if (state === "awaiting-approval") return ["approve", "cancel"];
  if (state === "running") return ["pause", "cancel"];
  if (state === "paused") return ["resume", "cancel"];
  return [...(retriedRows(counts) > 0 ? (["retry"] as const) : []), ...(counts.done > 0 ? (["undo"] as const) : [])];
}

/** A run in words: what it changes, how it stands, its rows by outcome, and the actions that its state allows. */
import { counted, duration, grouped, listed } from "../format.ts";
import { type Changed, type Outcome, type RunReport, type RunState, type Tally, outcomes } from "../shapes.ts";

/** `set-speed-class on OP0000000001 (default): s1.4xfast → s1.slow 41, s1.fast → s1.slow 19` */
export function changedText({ profile, operator, operation, changes, changesInAll }: Changed, max = 6): string {
  const shown = changes.slice(0, max);
  const others = shown.reduce((left, { count }) => left - count, changesInAll);
  const parts = shown.map(
    ({ from, to, count }) => `${from === undefined ? "unknown" : (from ?? "none")} → ${to ?? "none"} ${grouped(count)}`,
  );
  if (shown.length === 0) parts.push(changesInAll === 0 ? "nothing to change" : counted(changesInAll, "SIM"));
  else if (others > 0) parts.push(`and ${counted(others, "other change")}`);
  return `${operation} on ${operator === undefined ? profile : `${operator} (${profile})`}: ${parts.join(", ")}`;
}

/** `waits for r-A (190 calls), starts in about 3 min`; undefined if no calls of other runs come first. */
export function aheadText({ ahead }: Pick<RunReport, "ahead">): string | undefined {
  if (ahead === undefined) return undefined;
  const { runs, startsInSeconds } = ahead;
  const others = listed(runs.length > 3 ? [...runs.slice(0, 2), `${runs.length - 2} other runs`] : runs);
  const calls = counted(ahead.calls, "call");
  if (startsInSeconds === 0) return `${calls} of ${others} come first`;
  return `waits for ${others} (${calls}), starts in about ${duration(startsInSeconds)}`;
}

/** Rows that ended, and neither were changed nor needed to be. */
function rowsNotDone({ rejected, failed, unknown, cancelled }: Tally): number {
  return rejected + failed + unknown + cancelled;
}

/** How a run stands, for its badge: a completed run is not green if rows are not done, or if it did nothing. */
export function standingOf({
  state,
  counts,
  problem,
  frozen,
}: Pick<RunReport, "state" | "counts" | "problem" | "frozen">): { readonly state: string; readonly word: string } {
  if (state === "running" && frozen !== undefined) return { state: "frozen", word: "running (frozen)" };
  if (problem !== undefined) return { state: "stalled", word: "stalled" };
  const open = rowsNotDone(counts);
  if (state !== "completed" || (open === 0 && counts.done > 0)) return { state, word: state };
  if (open > 0) return { state: "incomplete", word: `completed, ${grouped(open)} not done` };
  return { state: "never", word: "completed, nothing to do" };
}

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

/** Outcomes whose rows can be retried on request. */
export const retryable: readonly Outcome[] = ["rejected", "failed", "cancelled"];

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

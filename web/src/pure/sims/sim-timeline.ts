/** What happened to a SIM, newest first: the rows of runs, and the changes that no run made or that runs caused. */
import type { Change, SimRun } from "../shapes.ts";

export type Happening =
  | { readonly at: string; readonly run: SimRun; readonly changes: readonly Change[] }
  | { readonly at: string; readonly change: Change };

/** A change that one of the runs caused is shown with it. */
export function timelineOf(runs: readonly SimRun[], changes: readonly Change[]): Happening[] {
  const ids = new Set(runs.map(({ runId }) => runId));
  const ofRuns = runs.map((run) => ({
    at: run.finishedAt ?? run.createdAt,
    run,
    changes: changes.filter(({ cause }) => cause === run.runId),
  }));
  const others = changes.filter(({ cause }) => !ids.has(cause)).map((change) => ({ at: change.at, change }));
  return [...ofRuns, ...others].toSorted((a, b) => Date.parse(b.at) - Date.parse(a.at));
}

/** Counts the last thousand runs by state, and their rows by outcome. */
import { type Outcome, outcomes, type RunState, runStates } from "#fleet/run.ts";
import type { Ledger } from "./ledger/ledger.ts";

export interface RunCensus {
  readonly runs: Readonly<Record<RunState, number>>;
  readonly rows: Readonly<Record<Outcome, number>>;
}

export async function censusOf(ledger: Ledger): Promise<RunCensus> {
  const runs = Object.fromEntries(runStates.map((state) => [state, 0])) as Record<RunState, number>;
  const rows = Object.fromEntries(outcomes.map((outcome) => [outcome, 0])) as Record<Outcome, number>;
  for (const { state, tally } of await ledger.statuses()) {
    runs[state] += 1;
    for (const outcome of outcomes) rows[outcome] += tally[outcome];
  }
  return { runs, rows };
}

/** Checks of the rows: one outcome each, the counts add up, and the platform's journal agrees with every outcome. */
import { ask, askJson } from "../control.ts";
import type { StartedRun } from "../load.ts";
import { type Stage, terminatedSims } from "../stage/stage.ts";
import type { Damage } from "../strike.ts";

interface RunDocument {
  readonly state: string;
  readonly counts: Readonly<Record<string, number>>;
}

interface Row {
  readonly input: { readonly simId: string };
  readonly outcome: string;
  readonly reason: string;
}

export interface RowCounts {
  rows: number;
  repeated: number;
  unknown: number;
  /** Cancelled rows whose call was in flight when their worker died. */
  cancelledInFlight: number;
}

/** @returns what is wrong, in words */
export async function checkRows(
  stage: Stage,
  runs: readonly StartedRun[],
  damage: Damage,
): Promise<{ faults: string[]; counts: RowCounts }> {
  const faults: string[] = [];
  const counts: RowCounts = { rows: 0, repeated: 0, unknown: 0, cancelledInFlight: 0 };
  for (const run of runs) {
    const { state, counts: counted } = await askJson<RunDocument>(stage.stations, { path: `/runs/${run.runId}` });
    const text = await ask(stage.stations, { path: `/runs/${run.runId}/results?format=ndjson` });
    const rows = text
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as Row);
    const { total = 0, ...byOutcome } = counted;
    const tally: Record<string, number> = {};
    for (const { outcome } of rows) tally[outcome] = (tally[outcome] ?? 0) + 1;
    const size = run.sims[1] - run.sims[0];
    const name = `${run.operation} (${run.runId})`;
    if (state !== "completed" && !(run.isSteered && state === "cancelled")) faults.push(`${name} is ${state}`);
    if (total !== size || rows.length !== size) faults.push(`${name} has ${total} and ${rows.length} of ${size} rows`);
    for (const [outcome, count] of Object.entries(byOutcome)) {
      if (count !== (tally[outcome] ?? 0))
        faults.push(`${name} counts ${count} ${outcome}, its rows ${tally[outcome]}`);
    }
    for (const row of rows) faults.push(...checkRow(stage, run, row, counts));
    counts.rows += rows.length;
  }
  const { faults: sandboxFaults } = stage.sandbox;
  const { "lost-answer": lost = 0, truncated = 0, slow = 0, ...refused } = sandboxFaults.counts;
  const doubtful = damage.inHand + lost + truncated + slow;
  // A reset looks like a lost response, and a call that a server failed at may have been carried out.
  const asDoubtful = doubtful + Object.values(refused).reduce((sum, count) => sum + count, 0);
  if (counts.repeated > doubtful) {
    faults.push(`${counts.repeated} safe calls were repeated, but only ${doubtful} could have been lost`);
  }
  if (counts.cancelledInFlight > doubtful) {
    faults.push(
      `${counts.cancelledInFlight} cancelled rows were done, but only ${doubtful} calls could have been lost`,
    );
  }
  if (counts.unknown > asDoubtful) {
    faults.push(`${counts.unknown} rows are unknown, but only ${asDoubtful} could have been lost`);
  }
  return { faults, counts };
}

function checkRow(stage: Stage, run: StartedRun, { input, outcome, reason }: Row, counts: RowCounts): string[] {
  const { state } = stage.sandbox;
  const effects = state.effectsOn(input.simId)[run.effect] ?? 0;
  const place = state.placeOf(input.simId) ?? -1;
  const mustBeRefused = place >= terminatedSims[0] && place < terminatedSims[1];
  const what = `${run.operation} of ${input.simId} (place ${place}) is ${outcome} (${reason}), ${effects} times accepted`;
  if (outcome === "unknown") counts.unknown += 1;
  if (run.isSafe) counts.repeated += Math.max(0, effects - 1);
  if (!run.isSafe && effects > 1) return [`sent twice: ${what}`];
  switch (outcome) {
    case "done":
      return effects === 0 ? [`never accepted: ${what}`] : [];
    case "rejected":
      return effects > 0 || !mustBeRefused ? [`rejected without cause: ${what}`] : [];
    case "cancelled":
      if (effects > 0 && !reason.includes("may have been")) counts.cancelledInFlight += 1;
      return run.isSteered ? [] : [`cancelled without cause: ${what}`];
    case "unknown":
      return run.isSafe ? [`a safe call without an outcome: ${what}`] : [];
    default:
      return [`unexpected: ${what}`];
  }
}

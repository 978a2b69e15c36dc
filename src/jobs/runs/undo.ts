/**
 * Builds a run that restores what another run changed: each SIM gets its previous class, but only if it still has the class
 * that the run gave it. A later change, by a user or by another run, is kept and reported as skipped.
 */
import { SimfleetError } from "#core/errors.ts";
import { keyColumnOf, type Wording } from "#fleet/sim/sim.ts";
import { type Inventory, speedClassOf } from "#jobs/inventory/store/inventory.ts";
import type { Ledger } from "./ledger/ledger.ts";
import { type StoredRow, isCallable } from "./ledger/packing.ts";
import type { RunRecord } from "./ledger/run-record.ts";
import type { KnownSim } from "#jobs/inventory/store/sim-record.ts";
import { assertEnded } from "./ended-run.ts";
import { inBatches } from "./plan/row-source.ts";
import { type RowResult, rowResults } from "./results.ts";
import type { Submission } from "./submit.ts";

/**
 * @throws SimfleetError RUN_STATE if the run has not ended, or has changed nothing
 */
export async function undoSubmission(
  run: RunRecord,
  deps: { ledger: Ledger; inventory: Inventory },
  wording: Wording,
): Promise<Submission> {
  assertEnded(run, "undone");
  const counts = { total: 0, calls: 0 };
  for await (const batch of undoRows(run, deps)) {
    counts.total += batch.length;
    counts.calls += batch.filter(isCallable).length;
  }
  if (counts.total === 0) {
    throw new SimfleetError("RUN_STATE", `Run ${run.runId} changed nothing: there is nothing to undo`);
  }
  return {
    ...counts,
    name: `${run.name} (undo)`,
    profile: run.profile,
    bucket: run.bucket,
    options: { partial: false, skipUnchanged: false },
    header: [keyColumnOf(wording), "speedClass"],
    source: run.source,
    sha256: run.sha256,
    undoOf: run.runId,
    rows: undoRows(run, deps),
  };
}

async function* undoRows(
  run: RunRecord,
  { ledger, inventory }: { ledger: Ledger; inventory: Inventory },
): AsyncGenerator<readonly StoredRow[]> {
  let index = 0;
  for await (const batch of inBatches(changes(run, ledger))) {
    const known = await inventory.lookUp(
      run.profile,
      batch.map(({ row }) => row.key),
    );
    yield batch.map((result, i) => {
      index += 1;
      return undoRow(result, known[i], index - 1);
    });
  }
}

/** The rows with which the run changed a SIM's class. */
async function* changes(run: RunRecord, ledger: Ledger): AsyncGenerator<RowResult> {
  for await (const result of rowResults(run, ledger)) {
    if (result.outcome === "done" && result.row.duplicateOf === undefined) yield result;
  }
}

function undoRow({ row, previousSpeedClass }: RowResult, sim: KnownSim | undefined, index: number): StoredRow {
  const { key, speedClass: given } = row;
  const wanted = previousSpeedClass;
  const undo = { index, line: index + 2, key, speedClass: wanted || given, cells: [key, wanted], weight: 1 };
  const reason = reasonToLeave({ given, wanted }, sim);
  return reason === undefined
    ? { ...undo, speedClassBefore: given, onlyFrom: given }
    : { ...undo, speedClassBefore: speedClassOf(sim) ?? "", skipped: reason };
}

/** Why a SIM is left unchanged; undefined if its class is to be restored. */
function reasonToLeave(change: { given: string; wanted: string }, sim: KnownSim | undefined): string | undefined {
  const { given, wanted } = change;
  if (wanted === "") return "left unchanged: its previous class is unknown, because no sync had read it";
  if (wanted === given) return `left as it is: it had ${given} before the run as well`;
  if (sim?.goneAtMs !== undefined) return "left unchanged: the platform no longer lists it";
  const present = speedClassOf(sim);
  if (present === given) return undefined;
  return `left as it is: it has ${present ?? "no speed class"} now, no longer ${given}, which the run gave it`;
}

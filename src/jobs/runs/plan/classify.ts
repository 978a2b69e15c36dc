/** Compares the rows of a plan with the inventory: what each row would do, and the current class of its SIM. */
import type { ResolvedRow } from "#intake/read-rows.ts";
import { type Inventory, speedClassOf } from "#jobs/inventory/store/inventory.ts";
import type { RowSource } from "./row-source.ts";

/** What a run would do with a row. */
export type RowVerdict =
  /** A call that changes the class, as far as the inventory knows (also if nothing is known). */
  | "change"
  /** The SIM already has the requested class according to the inventory. */
  | "unchanged"
  /** The inventory was synced, and the SIM is missing from it or marked as gone. */
  | "unknown"
  /** Shares the call of an earlier row with the same SIM and class. */
  | "duplicate"
  /** Another row requests a different class for the same SIM. */
  | "conflict"
  | "invalid";

export interface ClassifiedRow extends ResolvedRow {
  readonly verdict: RowVerdict;
  /** Current speed class of the SIM, if the inventory knows it. */
  readonly speedClassBefore?: string;
}

/** The inventory of one profile, as far as classification needs it. */
export interface KnownFleet {
  readonly inventory: Inventory;
  readonly profile: string;
}

/** @throws IntakeError if the file has changed since the survey */
export async function* classifyRows(source: RowSource, fleet: KnownFleet): AsyncGenerator<readonly ClassifiedRow[]> {
  const { known: count, gone, isComplete } = await fleet.inventory.facts(fleet.profile);
  for await (const batch of source.read()) {
    const keys = count + gone === 0 ? [] : batch.map(({ row }) => row.key);
    const sims = await fleet.inventory.lookUp(fleet.profile, keys);
    yield batch.map((resolved, i): ClassifiedRow => {
      const sim = sims[i];
      const speedClassBefore = speedClassOf(sim);
      const isListed = sim !== undefined && sim.goneAtMs === undefined;
      const verdict = verdictOf(resolved, { isListed, isComplete, speedClassBefore });
      return { ...resolved, verdict, ...(speedClassBefore === undefined ? {} : { speedClassBefore }) };
    });
  }
}

function verdictOf(
  { row, duplicateOf }: ResolvedRow,
  known: { isListed: boolean; isComplete: boolean; speedClassBefore: string | undefined },
): RowVerdict {
  if (row.problem !== undefined) return row.problem.code === "conflict" ? "conflict" : "invalid";
  if (duplicateOf !== undefined) return "duplicate";
  if (known.isComplete && !known.isListed) return "unknown";
  return known.speedClassBefore === row.speedClass ? "unchanged" : "change";
}

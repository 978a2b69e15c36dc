/** Holds the rows of a surveyed file against the inventory: what each would do, and what its SIM has now. */
import type { ResolvedRow } from "#intake/read-rows.ts";
import { type Inventory, speedClassOf } from "#jobs/inventory/store/inventory.ts";
import type { RowSource } from "./row-source.ts";

/** What a run would do with a row. */
export type RowVerdict =
  /** A call, that changes the class as far as the inventory knows (or nothing is known). */
  | "change"
  /** The inventory shows the wanted class already. */
  | "unchanged"
  /** The inventory was synced, and does not have the SIM or has it as gone. */
  | "unknown"
  /** Shares the call of an earlier row with the same SIM and class. */
  | "duplicate"
  /** The same SIM stands elsewhere with another class. */
  | "conflict"
  | "invalid";

export interface ClassifiedRow extends ResolvedRow {
  readonly verdict: RowVerdict;
  /** Speed class of the SIM, where the inventory knows one. */
  readonly speedClassBefore?: string;
}

/** The inventory of one profile, as the judge needs it. */
export interface KnownFleet {
  readonly inventory: Inventory;
  readonly profile: string;
}

/** @throws IntakeError when the file is no longer the one that was surveyed */
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

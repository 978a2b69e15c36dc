/** Holds the rows of a surveyed file against the inventory: what each would do, and what its SIM has now. */
import { type FileSurvey, type ResolvedRow, readRows } from "#intake/read-rows.ts";
import type { Inventory } from "#store/inventory.ts";

/** What a run would do with a row. */
export type RowVerdict =
  /** A call, that changes the class as far as the inventory knows (or nothing is known). */
  | "change"
  /** The inventory shows the wanted class already. */
  | "unchanged"
  /** The inventory was synced and does not have the SIM. */
  | "unknown"
  /** Shares the call of an earlier row with the same SIM and class. */
  | "duplicate"
  /** The same SIM stands elsewhere with another class. */
  | "conflict"
  | "invalid";

export interface JudgedRow extends ResolvedRow {
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
export async function* judgeRows(survey: FileSurvey, fleet: KnownFleet): AsyncGenerator<readonly JudgedRow[]> {
  const isSynced = (await fleet.inventory.syncState(fleet.profile))?.finishedAtMs !== undefined;
  const isEmpty = (await fleet.inventory.size(fleet.profile)) === 0;
  for await (const batch of readRows(survey)) {
    const keys = isEmpty ? [] : batch.map(({ row }) => row.key);
    const known = await fleet.inventory.lookUp(fleet.profile, keys);
    yield batch.map((resolved, i): JudgedRow => {
      const speedClassBefore = known[i]?.speedClass;
      const verdict = verdictOf(resolved, { isKnown: known[i] !== undefined, isSynced, speedClassBefore });
      return { ...resolved, verdict, ...(speedClassBefore === undefined ? {} : { speedClassBefore }) };
    });
  }
}

function verdictOf(
  { row, duplicateOf }: ResolvedRow,
  known: { isKnown: boolean; isSynced: boolean; speedClassBefore: string | undefined },
): RowVerdict {
  if (row.problem !== undefined) return row.problem.code === "conflict" ? "conflict" : "invalid";
  if (duplicateOf !== undefined) return "duplicate";
  if (known.speedClassBefore === row.speedClass) return "unchanged";
  return known.isSynced && !known.isKnown ? "unknown" : "change";
}

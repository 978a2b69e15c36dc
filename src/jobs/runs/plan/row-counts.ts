/** Counts the rows of a retry or an undo, and the dangers of their calls, before it is submitted. */
import type { SimOperation } from "#fleet/sim-operation/sim-operation.ts";
import type { Inventory } from "#jobs/inventory/store/inventory.ts";
import { type StoredRow, isCallable, operationOf } from "../ledger/packing.ts";
import { costCheck } from "./costs.ts";

export interface RowCounts {
  readonly total: number;
  readonly calls: number;
  /** Calls that cost money, as far as the inventory knows. */
  readonly costly: number;
  readonly irreversible: number;
}

type Operations = readonly [SimOperation, ...SimOperation[]];

export async function countRows(
  rows: AsyncIterable<readonly StoredRow[]>,
  { operations, inventory, profile }: { operations: Operations; inventory: Inventory; profile: string },
): Promise<RowCounts> {
  const counts = { total: 0, calls: 0, costly: 0, irreversible: 0 };
  const costChecks = new Map(operations.map((operation) => [operation, costCheck(operation)]));
  const isCostly = operations.some(({ danger }) => danger === "costly");
  for await (const batch of rows) {
    const callable = batch.filter(isCallable);
    const keys = isCostly ? callable.map(({ key }) => key) : [];
    const sims = await inventory.lookUp(profile, keys);
    counts.total += batch.length;
    counts.calls += callable.length;
    for (const [i, row] of callable.entries()) {
      if (isIrreversible(operations, row)) counts.irreversible += 1;
      if (costChecks.get(operationOf({ operations }, row))?.(row.key, sims[i]) === true) counts.costly += 1;
    }
  }
  return counts;
}

/** Whether the row makes a call that cannot be undone. */
export function isIrreversible(operations: Operations, row: StoredRow): boolean {
  return isCallable(row) && operationOf({ operations }, row).danger === "irreversible";
}

/** The rows of a segment that have no outcome yet: what they change, and what the inventory knows of their SIMs. */
import { type FieldChange, type SimChange, changesOf, simChangeOf } from "#fleet/sim-operation/sim-operation.ts";
import type { Inventory } from "#jobs/inventory/store/inventory.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { type FieldValues, type StoredRow, isCallable, operationOf } from "../ledger/packing.ts";
import type { RunRecord } from "../ledger/run-record.ts";
import type { SegmentState } from "../ledger/settlement.ts";
import { beforeOf } from "../plan/classify.ts";

export interface OpenRows {
  readonly state: SegmentState;
  /** Rows that make a call and have no outcome yet, by position. */
  readonly rows: readonly (readonly [place: number, row: StoredRow])[];
  /** What each row changes, by place. */
  readonly changes: ReadonlyMap<number, readonly FieldChange[]>;
  /** Values of the fields that each row sets, by place, as the inventory has them now. */
  readonly before: ReadonlyMap<number, FieldValues>;
  /** When the inventory had last changed each SIM, by key; SIMs that it does not know are absent. */
  readonly changedAtMs: ReadonlyMap<string, number>;
}

/** Reads the open rows of a segment, and claims their SIMs for the run. */
export async function claimOpenRows(
  run: RunRecord,
  segment: number,
  { ledger, inventory }: { readonly ledger: Ledger; readonly inventory: Inventory },
): Promise<OpenRows> {
  const state = await ledger.segment(run, segment);
  const rows = [...state.rows.entries()].filter(([place, row]) => isCallable(row) && !state.settled.has(place));
  const claims = new Map<string, SimChange>();
  const changes = new Map<number, readonly FieldChange[]>();
  for (const [place, row] of rows) {
    const operation = operationOf(run, row);
    const change = changesOf(operation, row.key, row.inputs);
    changes.set(place, change);
    if (change.length > 0) claims.set(row.key, joined(claims.get(row.key), simChangeOf(operation, change)));
  }
  const [known, facts] = await Promise.all([
    inventory.lookUp(
      run.profile,
      rows.map(([, { key }]) => key),
    ),
    inventory.facts(run.profile),
    ledger.claim(run, claims),
  ]);
  const before = new Map(
    rows.map(([place], i) => [place, beforeOf(changes.get(place) ?? [], known[i], facts)] as const),
  );
  const changedAtMs = new Map(
    rows.flatMap(([, { key }], i) => {
      const sim = known[i];
      return sim === undefined ? [] : [[key, sim.updatedAtMs] as const];
    }),
  );
  return { state, rows, changes, before, changedAtMs };
}

/** A SIM can have several rows, such as one for each tag. */
function joined(before: SimChange | undefined, { set, fields }: SimChange): SimChange {
  if (before === undefined) return { set, fields };
  return { set: [...before.set, ...set], fields: new Map([...before.fields, ...fields]) };
}

/** Why a row is left alone whose SIM has changed since. */
export function noLonger([field, expected]: FieldChange, present: string | undefined): string {
  const text = (value: string | null): string => (value === null ? `no ${field}` : value);
  return `left unchanged: it has ${text(present ?? null)} now, not ${text(expected)} from the run`;
}

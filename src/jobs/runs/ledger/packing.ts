/**
 * The storage format of rows and outcomes in Redis: JSON, deflated by segment. It takes about a tenth of the memory
 * of a hash per row.
 */
import { promisify } from "node:util";
import { deflateRaw, inflateRawSync } from "node:zlib";
import type { Outcome, Row } from "#fleet/run.ts";
import { encodeName } from "#fleet/sim/field-text.ts";
import type { pickFields } from "#fleet/sim/sim-fields.ts";
import { encodeFields } from "#jobs/inventory/records/sim-record.ts";
import type { RunHead } from "./run-record.ts";
import { type FieldChange, type SimOperation, changesOf } from "#fleet/sim-operation/sim-operation.ts";

/** On another thread: it takes a sixth of the time of a plan. */
const deflated: (text: string) => Promise<Buffer> = promisify(deflateRaw);

/** Values of the fields that an operation sets, in their order: null for an absent one; undefined if not known. */
export type FieldValues = readonly (string | null)[] | undefined;

/** One row of a submitted run; its secret inputs are sealed. */
export interface StoredRow extends Row {
  /** Index of the run's operation. Defaults to 0. */
  readonly operation?: number;
  /** Number of rows that share this row's outcome, itself included. */
  readonly weight: number;
  /** Values that the inventory showed when the run was submitted. */
  readonly before?: FieldValues;
  /** Why the row is skipped without a call. */
  readonly skipped?: string | undefined;
  /** The row is also skipped if the inventory shows another value of one of these fields. */
  readonly onlyIf?: readonly FieldChange[];
  /** Verdict at plan time, if the call was not known to change the SIM. */
  readonly planned?: "unchanged" | "not-in-inventory" | undefined;
  /** Whether the row's SIM met the gate of the run's waves when it was planned; absent without a gate. */
  readonly met?: boolean | undefined;
  /** The call costs money, as far as the inventory knew. */
  readonly isCostly?: boolean | undefined;
}

/** Final outcome of a row. */
export interface Settled {
  readonly outcome: Exclude<Outcome, "pending" | "cancelled">;
  readonly reason: string;
  /** Values of the fields that the operation sets, before the call. */
  readonly previous?: FieldValues;
  readonly attempts: number;
  readonly finishedAtMs: number;
}

/** Attempts of a row that is not settled yet. */
export interface Tries {
  readonly attempts: number;
  readonly reason: string;
  /** When a call was sent whose response was lost: the change may have been applied. */
  readonly unknownSinceMs?: number;
  /** When a call that is unsafe to repeat was sent. Written before the call, so that no process sends it again. */
  readonly sentAtMs?: number;
  /** ID of the work on the segment that wrote this mark. */
  readonly owner?: string;
  /** When to find out again what such a call did, whose response was lost. */
  readonly readAtMs?: number;
}

/** A note for a row that ends while the effect of a call is unknown; empty if there is no such call. */
export function doubtOf(tries: Pick<Tries, "unknownSinceMs" | "sentAtMs"> | undefined): string {
  const isInDoubt = tries?.unknownSinceMs !== undefined || tries?.sentAtMs !== undefined;
  return isInDoubt ? "; a response was lost, so the change may have been made" : "";
}

type Operations = Pick<RunHead, "operations">;

/** The operation of a row, of those of its run. */
export function operationOf({ operations }: Operations, { operation = 0 }: Pick<StoredRow, "operation">): SimOperation {
  return operations[operation] ?? operations[0];
}

/** Whether a row makes a call of its own. */
export function isCallable(row: StoredRow): boolean {
  return row.problem === undefined && row.duplicateOf === undefined && row.skipped === undefined;
}

export function packRows(rows: readonly StoredRow[]): Promise<Buffer> {
  return deflated(JSON.stringify(rows.map((row) => ({ ...row, index: undefined }))));
}

export function unpackRows(packed: Buffer, firstIndex: number): StoredRow[] {
  const rows = JSON.parse(inflateRawSync(packed).toString("utf8")) as StoredRow[];
  return rows.map((row, i) => ({ ...row, index: firstIndex + i }));
}

/** The indexes of a SIM's rows in packed rows. */
export function indexesOf(key: string, packed: Buffer, firstIndex: number): number[] {
  const text = inflateRawSync(packed).toString("utf8");
  if (!text.includes(JSON.stringify(key))) return [];
  return (JSON.parse(text) as StoredRow[]).flatMap((row, i) => (row.key === key ? [firstIndex + i] : []));
}

/** Packs all outcomes of a segment, which are JSON, by the rows' position in it: an object has such keys in order. */
export function packOutcomes(outcomes: Readonly<Record<string, string>>): Promise<Buffer> {
  const entries = Object.entries(outcomes).map(([place, record]) => `[${place},${record}]`);
  return deflated(`[${entries.join(",")}]`);
}

export function unpackOutcomes(packed: Buffer): Map<number, Settled> {
  return new Map(JSON.parse(inflateRawSync(packed).toString("utf8")) as [number, Settled][]);
}

// What a worker writes for a row.

/** A SIM after a change, written to the inventory with the outcome; fields missing in the response keep their value. */
export type ShownSim = ReturnType<typeof pickFields>;

export interface Settlement {
  readonly shown?: ShownSim | undefined;
  /** Fields that the row sets or removes: the run's lock on them ends. Default none. */
  readonly set?: readonly string[] | undefined;
  /** When the SIM had last changed in the inventory before the call; absent: it was not known. */
  readonly basisMs?: number | undefined;
  readonly place: number;
  /** The SIM's key. */
  readonly key: string;
  readonly weight: number;
  readonly settled: Settled;
  /** The platform answered, although the row is skipped: it works again if it did not. */
  readonly isAnswered?: boolean;
}

/** Ends a row for which no call is made now. @param end its outcome; the reason gets a note of a lost response */
export function endWithoutCall(
  run: Operations,
  { place, row, tries }: { readonly place: number; readonly row: StoredRow; readonly tries: Tries | undefined },
  end: Pick<Settled, "outcome" | "reason" | "finishedAtMs">,
): Settlement {
  const { key, weight, before: previous } = row;
  const set = changesOf(operationOf(run, row), key, row.inputs).map(([field]) => field);
  const attempts = (tries?.attempts ?? 0) + (tries?.sentAtMs === undefined ? 0 : 1);
  return { place, key, weight, set, settled: { ...end, reason: `${end.reason}${doubtOf(tries)}`, previous, attempts } };
}

/** A settlement as settle.lua takes it. */
export function encodeSettlement(settlement: Settlement): string {
  const { place, key, weight, settled, shown, isAnswered, set = [], basisMs } = settlement;
  const outcome = isAnswered === true ? "answered" : settled.outcome;
  const row = `${place} ${outcome} ${weight} ${key} ${listed(set) || "-"} ${JSON.stringify(settled)}`;
  if (shown === undefined) return row;
  const { fields, mentioned } = shown;
  return [row, listed(mentioned), basisMs ?? "-", encodeFields(fields)].join("\n");
}

function listed(names: readonly string[]): string {
  return names.map(encodeName).join(",");
}

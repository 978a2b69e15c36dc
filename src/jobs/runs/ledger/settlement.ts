/** Input and output of the ledger for the rows of a segment. */
import type { RunState } from "#fleet/run.ts";
import type { SimFields } from "#fleet/sim/sim-fields.ts";
import { encodeName } from "#fleet/sim/field-text.ts";
import { encodeFields } from "#jobs/inventory/records/sim-record.ts";
import { type Settled, type StoredRow, type Tries, answeredLetter, encodeSettled, outcomeLetters } from "./packing.ts";

/** Why a run currently makes no progress. */
export interface RunProblem {
  readonly message: string;
  /** Delay until the next attempt. */
  readonly delayMs: number;
  /** Intended, as with a freeze: the run does not count as stalled. */
  readonly isExpected?: boolean;
  /** Emitted with the problem. */
  readonly event?: "run.row-quarantined";
}

/** One segment of a run, as a worker reads it. */
export interface SegmentState {
  readonly rows: readonly StoredRow[];
  /** Settled outcomes by position in the segment. */
  readonly settled: ReadonlyMap<number, Settled>;
  readonly tries: ReadonlyMap<number, Tries>;
  readonly isFinished: boolean;
}

/** A SIM after a change: it is written to the inventory together with the outcome. */
export interface ShownSim {
  readonly fields: SimFields;
  /** Fields in the response, with or without a value; the others keep their known value. */
  readonly mentioned: readonly string[];
}

export interface Settlement {
  readonly shown?: ShownSim | undefined;
  /** Fields that the row sets or removes: the run's claim on them ends. Default none. */
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

export interface SettleReply {
  readonly state: RunState | "gone";
  readonly pending: number;
  /** Whether the wave of the segment has ended: the next one, or its check, needs jobs. */
  readonly hasEndedWave: boolean;
}

/** A settlement as settle.lua takes it. */
export function encodeSettlement(settlement: Settlement): string {
  const { place, key, weight, settled, shown, isAnswered, set = [], basisMs } = settlement;
  const letter = isAnswered === true ? answeredLetter : outcomeLetters[settled.outcome];
  const row = `${place} ${letter} ${weight} ${key} ${listed(set) || "-"} ${encodeSettled(settled)}`;
  if (shown === undefined) return row;
  const { fields, mentioned } = shown;
  return [row, listed(mentioned), basisMs ?? "-", encodeFields(fields)].join("\n");
}

function listed(names: readonly string[]): string {
  return names.map(encodeName).join(",");
}

/**
 * Finds out what a call did that must not be repeated and whose response was lost: the SIM's record shows it if the
 * operation sets a field to a value that the SIM did not have before. Otherwise the outcome is unknown, for good.
 */
import type { Account } from "#api/account.ts";
import { PlatformError } from "#core/errors.ts";
import { type Clock, minuteMs, secondMs } from "#core/time.ts";
import { inputTextOf, pickFields } from "#fleet/sim/sim-fields.ts";
import { type SimOperation, changesOf } from "#fleet/sim-operation/sim-operation.ts";
import type { FieldValues, StoredRow } from "../ledger/packing.ts";
import type { TryResult } from "./row-attempt.ts";
import { resultOf } from "./row-call.ts";

/** The row of a lost call. */
export interface LostRow {
  readonly operation: SimOperation;
  readonly row: Pick<StoredRow, "key" | "inputs">;
  /** Values of the fields that it sets, before the call. */
  readonly before: FieldValues;
  readonly account: Account;
}

interface LostCall {
  readonly sentAtMs: number;
  /** Why no response is known; empty if the process ended before one arrived. */
  readonly reason: string;
}

/**
 * A call that was sent this long ago has ended, by the timeouts of connection, headers and body and a margin for the
 * platform: a record without its change means that it did nothing.
 */
const settledAfterMs = 2 * minuteMs;
/** Reading the record is given up this long after the call. */
const maxReadingMs = 15 * minuteMs;
const rereadMs = 2 * secondMs;

export async function settleLostCall(
  { sentAtMs, reason }: LostCall,
  deps: LostRow & { clock: Clock; signal: AbortSignal },
): Promise<TryResult> {
  const { operation, row, before, account, clock, signal } = deps;
  const why = reason === "" ? "the process ended before the response arrived" : reason;
  const sent = `sent at ${new Date(sentAtMs).toISOString()}; ${why}`;
  const unknown: TryResult = {
    kind: "lost",
    outcome: "unknown",
    reason: `${sent}. It is not sent again: it may have been done`,
  };
  const changes = changesOf(operation, row.key, row.inputs);
  const canTell = before !== undefined && changes.some(([, after], i) => after !== before[i]);
  if (!canTell || account.readSim === undefined) return unknown;
  let record;
  try {
    record = await account.client.call(account.readSim, { key: row.key }, { signal });
  } catch (thrown) {
    if (!(thrown instanceof PlatformError)) throw thrown;
    const result = resultOf(thrown);
    // A SIM that cannot be read, now or for a while, shows nothing. A rejection is about the read, not about the row.
    const isHopeless = result.kind === "rejected" || thrown.code === "PLATFORM_FORBIDDEN";
    if (isHopeless || clock.wallMs() > sentAtMs + maxReadingMs) return unknown;
    if (result.kind === "postponed" || result.kind === "refused") return result;
    return { kind: "waiting", delayMs: rereadMs };
  }
  const names = changes.map(([field]) => field);
  const { fields } = pickFields(record, { ...account.selection, fields: names });
  const isDone = changes.every(([field, after]) => {
    const value = fields.get(field);
    return (value === undefined ? null : inputTextOf(value)) === after;
  });
  if (isDone) return { kind: "lost", outcome: "done", reason: `${sent}; the record shows the change` };
  // An accepted change may come later than any time that could be waited for.
  if (operation.answer === "accepted") return unknown;
  const leftMs = sentAtMs + settledAfterMs - clock.wallMs();
  if (leftMs <= 0) return { kind: "lost", outcome: "failed", reason: `${sent}; the record does not show the change` };
  return { kind: "waiting", delayMs: leftMs };
}

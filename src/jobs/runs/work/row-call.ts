/** Makes the call of one row of a run, and interprets the response: the result of an attempt, as a value. */
import type { Account } from "#api/account.ts";
import type { CallOptions } from "#api/client-options.ts";
import { bucketOf } from "#api/operations/operation.ts";
import { simOperationCall, type SimRecord } from "#api/operations/sims.ts";
import { PlatformError } from "#core/errors.ts";
import { scrubJson, scrubValues } from "#core/secrets/scrub-secrets.ts";
import { type FieldSelection, pickFields } from "#fleet/sim/sim-fields.ts";
import type { FieldChange, SimChange, SimOperation } from "#fleet/sim-operation/sim-operation.ts";
import type { Postponed } from "#engine/queue/job-result.ts";
import { secretsOf } from "../sealed-inputs.ts";
import type { FieldValues, ShownSim, StoredRow } from "../ledger/packing.ts";

/** A row that makes a call and has no outcome yet: what it changes, and what the inventory knows of its SIM. */
export interface OpenRow {
  readonly place: number;
  readonly row: StoredRow;
  readonly operation: SimOperation;
  readonly changes: readonly FieldChange[];
  readonly change: SimChange;
  /** Values of the fields that it sets, before its call. */
  readonly before: FieldValues;
  /** When the SIM had last changed in the inventory; undefined: it does not know the SIM. */
  readonly basisMs: number | undefined;
  /** Whether it is left out, since its SIM is as requested by now. */
  readonly isUnchanged: boolean;
}

/** No attempt: the quota is spent, the run's own rate applies, or the platform is unreachable. */
interface PostponedTry extends Postponed {
  readonly wasRateLimited?: boolean;
  /** Something other than a spent quota is wrong, and users have to see it. */
  readonly isProblem?: boolean;
}

/** The result of one attempt of one row. */
export type TryResult =
  | { readonly kind: "done"; readonly shown?: ShownSim }
  /**
   * `already`: the platform answered that the SIM is as requested; `skipped`: no call was made, since the SIM has
   * changed after the row was submitted; `unknown`: the response was lost, so the change may have been applied, and the
   * call is sent again if that is safe; `failed-try`: the call changed nothing, and is worth a retry.
   */
  | { readonly kind: "already" | "skipped" | "rejected" | "unknown" | "failed-try"; readonly reason: string }
  | PostponedTry
  /** Result of an unsafe call whose response was lost, as far as it is known. */
  | { readonly kind: "lost"; readonly outcome: "done" | "failed" | "unknown"; readonly reason: string }
  /** The SIM's record is read again later, to find out what a lost call did; the other rows continue. */
  | { readonly kind: "waiting"; readonly delayMs: number }
  /** The platform rejected our credentials or permissions, or the configuration lacks something: it is not this row. */
  | { readonly kind: "refused"; readonly error: PlatformError };

/** The rest of a segment continues after a while. */
export function later(delayMs: number, reason: string) {
  return { kind: "postponed", delayMs, scope: "job", reason } as const;
}

/** Pause of a segment after the platform was unreachable. */
const unreachablePauseMs = 5_000;

/** The bucket, and queue, of a profile's calls of an operation; the limiter knows which operator's quota that is. */
export function operationBucket({ group }: Pick<SimOperation, "group">, profile: string): string {
  return bucketOf({ quota: { group } }, profile);
}

const calls = new WeakMap<SimOperation, ReturnType<typeof simOperationCall>>();

/** @param call `row`: its secret inputs are opened */
export async function makeCall(
  { client, selection }: Pick<Account, "client" | "selection">,
  { operation, row, change }: { operation: SimOperation; row: Pick<StoredRow, "key" | "inputs">; change: SimChange },
  options: CallOptions,
): Promise<TryResult> {
  let call = calls.get(operation);
  if (call === undefined) {
    call = simOperationCall(operation);
    calls.set(operation, call);
  }
  const secrets = secretsOf(operation, row.inputs);
  try {
    const answered = await client.call(call, row, options);
    const record = answered === undefined || secrets.length === 0 ? answered : recordWithout(answered, secrets);
    return operation.answer === "accepted"
      ? { kind: "done" }
      : { kind: "done", shown: shownAfter(change, record, selection) };
  } catch (thrown) {
    if (thrown instanceof PlatformError && secrets.length > 0) thrown.message = textWithout(thrown.message, secrets);
    if (!(thrown instanceof PlatformError)) throw thrown;
    if (!isAlreadyDone(operation, thrown)) return resultOf(thrown);
    return { kind: "already", reason: `already as requested: ${thrown.message}` };
  }
}

/** A message of the platform without the secret values of the row. A short one is removed as it is only. */
function textWithout(message: string, secrets: readonly string[]): string {
  return secrets.reduce((text, value) => text.replaceAll(value, "[secret]"), scrubValues(message, secrets));
}

function recordWithout(record: SimRecord, secrets: readonly string[]): SimRecord {
  return JSON.parse(scrubJson(JSON.stringify(record), (text) => scrubValues(text, secrets))) as SimRecord;
}

/**
 * What the inventory learns from a success: the returned record, and the fields that the operation sets, since records
 * leave out fields without a value.
 */
function shownAfter(change: SimChange, record: SimRecord | undefined, selection: FieldSelection): ShownSim {
  const shown: ShownSim = record === undefined ? { fields: new Map(), mentioned: [] } : pickFields(record, selection);
  const { fields, mentioned } = shown;
  const missing = [...change].filter(([field]) => isIn(selection.fields, field) && !isIn(mentioned, field));
  if (missing.length === 0) return shown;
  const withValue = missing.flatMap(([field, value]) => (value === null ? [] : [[field, value] as const]));
  return {
    fields: new Map([...fields, ...withValue]),
    mentioned: [...mentioned, ...missing.map(([field]) => field)],
  };
}

/** Whether a field, or the object that it is a member of, is among these names. */
function isIn(names: readonly string[], field: string): boolean {
  return names.some((name) => field === name || field.startsWith(`${name}.`));
}

function isAlreadyDone({ alreadyDone: { statuses, codes } }: SimOperation, error: PlatformError): boolean {
  if (error.code !== "PLATFORM_REJECTED" || (statuses.length === 0 && codes.length === 0)) return false;
  const { status = 0, platformCode = "" } = error;
  return (statuses.length === 0 || statuses.includes(status)) && (codes.length === 0 || codes.includes(platformCode));
}

/** Maps an error of the platform to the result of the attempt. */
export function resultOf(error: PlatformError): TryResult {
  switch (error.code) {
    case "PLATFORM_RATE_LIMITED":
      return {
        kind: "postponed",
        delayMs: error.retryAfterMs ?? 1_000,
        scope: error.bucket === undefined ? "job" : "bucket",
        wasRateLimited: error.status === 429,
        reason: error.message,
      };
    case "PLATFORM_UNAUTHORIZED":
    case "PLATFORM_FORBIDDEN":
    case "CONFIG_INVALID":
      return { kind: "refused", error };
    case "PLATFORM_REJECTED":
      return { kind: "rejected", reason: error.message };
    default:
      if (error.mayHaveApplied) return { kind: "unknown", reason: error.message };
      if (error.status !== undefined) return { kind: "failed-try", reason: error.message };
      return { ...later(unreachablePauseMs, error.message), isProblem: true };
  }
}

/** Processes one row of a run: makes the call that changes a SIM's speed class, and interprets the response. */
import type { PlatformClient } from "#api/client.ts";
import { bucketOf } from "#api/operations/operation.ts";
import { updateSimSpeedClass, updateSubscriberSpeedClass } from "#api/operations/sims.ts";
import { PlatformError } from "#core/errors.ts";
import { type FieldSelection, pickFields } from "#fleet/sim/sim-fields.ts";
import type { Wording } from "#fleet/sim/sim.ts";
import type { StoredRow } from "../ledger/packing.ts";
import type { TryResult } from "./row-attempt.ts";

/** Settings of the calls of one run. */
export interface CallOptions {
  readonly wording: Wording;
  /** The fields of the returned record to store. */
  readonly selection: FieldSelection;
  readonly pace?: { readonly id: string; readonly callsPerMinute: number };
  /** Number of calls that the run still has to make. */
  readonly backlog: () => number;
  /** Aborts waiting for a permit; a call in flight runs to its end. */
  readonly signal: AbortSignal;
}

/** Pause of a segment after the platform was unreachable. */
const unreachablePauseMs = 5_000;

function operationOf(wording: Wording): typeof updateSimSpeedClass {
  return wording === "sims" ? updateSimSpeedClass : updateSubscriberSpeedClass;
}

/** The bucket whose quota is used by the changes of a profile. */
export function speedClassBucket(profile: string, wording: Wording): string {
  return bucketOf(operationOf(wording), profile);
}

export async function changeSpeedClass(
  client: PlatformClient,
  row: StoredRow,
  storeDeps: CallOptions,
): Promise<TryResult> {
  const options = {
    backlog: storeDeps.backlog,
    signal: storeDeps.signal,
    ...(storeDeps.pace === undefined ? {} : { pace: storeDeps.pace }),
  };
  try {
    const { key, speedClass } = row;
    const record = await client.call(operationOf(storeDeps.wording), { key, speedClass }, options);
    return { kind: "done", shown: pickFields(record, storeDeps.selection) };
  } catch (thrown) {
    if (thrown instanceof PlatformError) return resultOf(thrown);
    throw thrown;
  }
}

/** Maps an error of the platform to the result of the attempt. */
function resultOf(error: PlatformError): TryResult {
  switch (error.code) {
    case "PLATFORM_THROTTLED":
      return {
        kind: "postponed",
        delayMs: error.retryAfterMs ?? 1_000,
        scope: error.bucket === undefined ? "job" : "bucket",
        wasThrottled: error.status === 429,
        isProblem: false,
        reason: error.message,
      };
    case "PLATFORM_UNAUTHORIZED":
    case "PLATFORM_FORBIDDEN":
      return { kind: "refused", error };
    case "PLATFORM_REJECTED":
      return { kind: "rejected", reason: error.message };
    default:
      if (error.mayHaveApplied) return { kind: "unknown", reason: error.message };
      if (error.status !== undefined) return { kind: "failed-try", reason: error.message };
      return {
        kind: "postponed",
        delayMs: unreachablePauseMs,
        scope: "job",
        wasThrottled: false,
        isProblem: true,
        reason: error.message,
      };
  }
}

/** One row of a run: one call that gives one SIM its speed class, and what the answer means for the row. */
import type { PlatformClient } from "#api/client.ts";
import { bucketOf } from "#api/operations/operation.ts";
import { updateSimSpeedClass, updateSubscriberSpeedClass } from "#api/operations/sims.ts";
import { PlatformError } from "#core/errors.ts";
import { type FieldChoice, pickFields } from "#fleet/sim-fields.ts";
import type { Wording } from "#fleet/sim.ts";
import type { StoredRow } from "../ledger/packing.ts";
import type { TryResult } from "./row-attempt.ts";

/** How the calls of one run are made. */
export interface CallOptions {
  readonly wording: Wording;
  /** What is kept of the record in the answer. */
  readonly choice: FieldChoice;
  readonly pace?: { readonly id: string; readonly callsPerMinute: number };
  /** Calls that the run still wants in all. */
  readonly backlog: () => number;
  /** Ends the waiting for a turn; a call that is out runs to its end. */
  readonly signal: AbortSignal;
}

/** After the platform could not be reached at all: how long a worker looks elsewhere before it tries again. */
const unreachablePauseMs = 5_000;

function operationOf(wording: Wording): typeof updateSimSpeedClass {
  return wording === "sims" ? updateSimSpeedClass : updateSubscriberSpeedClass;
}

/** The bucket whose quota the changes of a profile spend. */
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
    return { kind: "done", shown: pickFields(record, storeDeps.choice) };
  } catch (thrown) {
    if (thrown instanceof PlatformError) return resultOf(thrown);
    throw thrown;
  }
}

/** What an error of the platform means for a row. */
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

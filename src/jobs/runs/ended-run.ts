/** Access to a run that has ended with every outcome written: only such a run can be retried or undone. */
import { SimfleetError } from "#core/errors.ts";
import type { Clock } from "#core/time.ts";
import { isRunOver } from "#fleet/run.ts";
import type { Ledger } from "./ledger/ledger.ts";
import type { RunRecord } from "./ledger/run-record.ts";
import { readSettled } from "./results/sent-rows.ts";

const pollIntervalMs = 100;
/** Calls in flight when a run is aborted or cancelled end sooner than this, unless the platform hangs. */
const patienceMs = 5_000;

/** Reads a run; if it was just aborted or cancelled, waits some seconds for the calls in flight to end. */
export async function readWhenEnded(
  runId: string,
  { ledger, clock }: { readonly ledger: Ledger; readonly clock: Clock },
): Promise<RunRecord> {
  const endMs = clock.monotonicMs() + patienceMs;
  for (;;) {
    const run = await readSettled(runId, { ledger, clock });
    if (!run.isEnding || clock.monotonicMs() >= endMs) return run;
    await clock.sleep(pollIntervalMs);
  }
}

/**
 * @param what the intended operation, such as `undone`, for the message
 * @throws SimfleetError RUN_STATE_CONFLICT if the run has not ended, or calls are still in flight
 */
export function assertEnded({ runId, state, isEnding }: RunRecord, what: "retried" | "undone"): void {
  if (!isRunOver(state)) {
    throw new SimfleetError(
      "RUN_STATE_CONFLICT",
      `Run ${runId} is ${state}; only a finished run can be ${what}: wait until it ends, or cancel it with simfleet runs cancel ${runId}`,
    );
  }
  if (isEnding) {
    throw new SimfleetError(
      "RUN_STATE_CONFLICT",
      `Run ${runId} is ${state}, but some of its calls are still in flight: it can be ${what} when they complete, within a minute`,
    );
  }
}

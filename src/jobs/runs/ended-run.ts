/** A run that is over with every outcome in: what another run can be made of. */
import { SimfleetError } from "#core/errors.ts";
import type { Clock } from "#core/time.ts";
import { isRunOver } from "#fleet/run.ts";
import type { Ledger } from "./ledger/ledger.ts";
import type { RunRecord } from "./ledger/run-record.ts";

const pollIntervalMs = 100;
/** Calls that are out when a run is cut short end sooner than this, unless the platform hangs. */
const patienceMs = 5_000;

/** Reads a run; where it was just cut short, once the calls that were out have ended, or after some seconds. */
export async function readWhenEnded(
  runId: string,
  { ledger, clock }: { readonly ledger: Ledger; readonly clock: Clock },
): Promise<RunRecord> {
  const endMs = clock.monotonicMs() + patienceMs;
  for (;;) {
    const run = await ledger.run(runId);
    if (!run.isEnding || clock.monotonicMs() >= endMs) return run;
    await clock.sleep(pollIntervalMs);
  }
}

/**
 * @param what can be done with it then, such as `undone`
 * @throws SimfleetError RUN_STATE when the run goes on, or calls of it are still out
 */
export function assertEnded({ runId, state, isEnding }: RunRecord, what: "redone" | "undone"): void {
  if (!isRunOver(state)) {
    throw new SimfleetError(
      "RUN_STATE",
      `Run ${runId} is ${state}; only a run that is over can be ${what}: let it end, or end it with simfleet runs cancel ${runId}`,
    );
  }
  if (isEnding) {
    throw new SimfleetError(
      "RUN_STATE",
      `Run ${runId} is ${state}, but calls of it are still out: it can be ${what} when they have ended, within a minute`,
    );
  }
}

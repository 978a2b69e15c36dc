/**
 * Rows of an aborted or cancelled run whose call was sent and is unsafe to repeat: no worker takes them up again, so
 * they end as unknown here. Otherwise they would count as cancelled, and a retry would send them a second time.
 */
import type { Clock } from "#core/time.ts";
import { isRunOver } from "#fleet/run.ts";
import { isRepeatable } from "#fleet/sim-operation/sim-operation.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { type Settlement, endWithoutCall } from "../ledger/packing.ts";
import type { RunRecord } from "../ledger/run-record.ts";
import { SimfleetError } from "#core/errors.ts";

interface Deps {
  readonly ledger: Ledger;
  readonly clock: Clock;
}

/** Reads a run, after its sent rows have got their outcomes if it is over. @throws SimfleetError RUN_NOT_FOUND */
export async function readSettled(runId: string, { ledger, clock }: Deps): Promise<RunRecord> {
  const run = await ledger.run(runId);
  const isOver = isRunOver(run.state) && !run.isEnding;
  if (run.rowsRemovedAtMs !== undefined) return run;
  if (isRepeatable(run.operations) || !isOver || run.tally.cancelled === 0 || run.areSentSettled) return run;
  let settled = 0;
  for (const segment of await ledger.triedSegments(run)) {
    settled += await settleSegment(run, segment, { ledger, clock });
  }
  await ledger.noteSentSettled(runId);
  return settled === 0 ? run : ledger.run(runId);
}

async function settleSegment(run: RunRecord, segment: number, { ledger, clock }: Deps): Promise<number> {
  const { rows, settled, tries } = await ledger.segment(run, segment);
  const sent: Settlement[] = [];
  for (const [place, tried] of tries) {
    const row = rows[place];
    if (tried.sentAtMs === undefined || row === undefined || settled.has(place)) continue;
    const reason = `sent at ${new Date(tried.sentAtMs).toISOString()}`;
    const end = { outcome: "unknown", reason, finishedAtMs: clock.wallMs() } as const;
    sent.push(endWithoutCall(run, { place, row, tries: tried }, end));
  }
  if (sent.length > 0) await ledger.settle(run, segment, sent, { calls: 0, throttled: 0 });
  return sent.length;
}

// Access to a run that ended with every outcome written: only such a run can be retried; undone, also a paused one.

const pollIntervalMs = 100;
/** Calls in flight when a run is aborted or cancelled end sooner than this, unless the platform hangs. */
const patienceMs = 5_000;

/** Reads a run; if it was just aborted or cancelled, waits some seconds for the calls in flight to end. */
export async function readWhenEnded(runId: string, { ledger, clock }: Deps): Promise<RunRecord> {
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
export function assertEnded(run: RunRecord, what: "retried" | "undone"): void {
  const { runId, state, isEnding, isHeld } = run;
  if (what === "undone" && state === "paused" && !isHeld) return;
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

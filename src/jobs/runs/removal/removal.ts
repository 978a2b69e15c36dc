/**
 * Removes runs that are over from Redis: their rows first, the report of the run later or in the same step. A removal
 * that is interrupted by a crash is completed when it is repeated. Keys are unlinked a few hundred at a time, so that
 * Redis's other callers do not wait.
 */
import { SimfleetError } from "#core/errors.ts";
import { isRunOver } from "#fleet/run.ts";
import { makeMove } from "#engine/move-record.ts";
import type { Kernel } from "#kernel/kernel.ts";
import { runKeys } from "../ledger/keys.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { RunHead, RunRecord } from "../ledger/run-record.ts";

const keysAtOnce = 500;

type Removed = Pick<RunHead, "runId" | "segments">;

export type RunRemoval = ReturnType<typeof runRemoval>;

export function runRemoval(deps: Pick<Kernel, "redis" | "keys" | "bounds" | "clock"> & { readonly ledger: Ledger }) {
  const { redis, clock, ledger } = deps;
  const keys = runKeys(deps.keys);
  /** Whether rows of a run are in Redis. */
  const hasRows = async (runId: string): Promise<boolean> => (await redis.exists(keys.input(runId))) === 1;

  /**
   * Removes the inputs and outcomes of a run; its report stays, with its counts.
   * @param archive the file that its results were written to
   * @throws SimfleetError RUN_STATE_CONFLICT if the run is not over or calls of it are in flight
   */
  const removeRows = async ({ runId, segments }: Removed, archive?: string): Promise<void> => {
    for (const { state, profile, isHeld, rowsRemovedAtMs } of await ledger.read([runId])) {
      // No lease is granted on a run that is over (hold-run.lua), so nothing writes its rows from now on.
      if (isHeld || !isRunOver(state)) {
        const why = isRunOver(state) ? "calls of it are still in flight" : `it is ${state}`;
        const message = `Run ${runId} cannot be deleted: ${why}; only a finished run can`;
        throw new SimfleetError("RUN_STATE_CONFLICT", message);
      }
      const set = ["rowsRemovedAtMs", clock.wallMs(), ...(archive === undefined ? [] : ["archive", archive])];
      const move = { key: keys.run(runId), profile, guard: ["state", state], remove: [], events: [] };
      if (rowsRemovedAtMs === undefined) await makeMove(deps, { ...move, set });
    }
    const finished = await ledger.finishedSegments(runId);
    // A segment that is not finished has keys of its own.
    const open = segments.flatMap((_, segment) =>
      finished.has(segment) ? [] : [keys.outcomes(runId, segment), keys.tries(runId, segment)],
    );
    for (let at = 0; at < open.length; at += keysAtOnce) await redis.unlink(open.slice(at, at + keysAtOnce));
    // The input last: while it is there, the removal is not complete.
    await redis.unlink(keys.input(runId), keys.finished(runId));
  };

  /** Removes a run with its rows. @throws SimfleetError RUN_STATE_CONFLICT */
  const remove = async (run: Removed): Promise<void> => {
    const { runId } = run;
    await removeRows(run);
    await redis
      .multi()
      .unlink(keys.run(runId), keys.leases(runId), keys.yields(runId), deps.keys.pace(runId))
      .zrem(keys.runs(), runId)
      .exec();
  };

  return { hasRows, removeRows, remove };
}

/** Whether a run ended before an instant, in ms since the epoch; calls of it are no longer in flight. */
export function endedBefore({ state, isEnding, finishedAtMs, createdAtMs }: RunRecord, beforeMs: number): boolean {
  return isRunOver(state) && !isEnding && (finishedAtMs ?? createdAtMs) < beforeMs;
}

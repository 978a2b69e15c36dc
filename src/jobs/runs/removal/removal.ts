/**
 * Removes runs that are over from Redis: their rows first, the report of the run later or in the same step. A removal that is
 * interrupted by a crash is completed when it is repeated. Keys are unlinked a few hundred at a time, so that Redis's other
 * callers do not wait.
 */
import { SimfleetError } from "#core/errors.ts";
import { isRunOver } from "#fleet/run.ts";
import { Script } from "#redis/script.ts";
import type { Kernel } from "#kernel/kernel.ts";
import { type RunHead, type RunRecord, leaseMs } from "../ledger/run-record.ts";

const markScript = Script.load(new URL("./begin-removal.lua", import.meta.url));
const keysAtOnce = 500;

type Removed = Pick<RunHead, "runId" | "segments">;

export type RunRemoval = ReturnType<typeof runRemoval>;

export function runRemoval({ redis, keys, clock }: Pick<Kernel, "redis" | "keys" | "clock">) {
  /** Whether rows of a run are in Redis. */
  const hasRows = async (runId: string): Promise<boolean> => (await redis.exists(keys.runInput(runId))) === 1;

  /**
   * Removes the inputs and outcomes of a run; its report stays, with its counts.
   * @param archive the file that its results were written to
   * @throws SimfleetError RUN_STATE_CONFLICT if the run is not over or calls of it are in flight
   */
  const removeRows = async ({ runId, segments }: Removed, archive = ""): Promise<void> => {
    const runKeys = [keys.run(runId), keys.runLeases(runId)];
    const reply = await markScript.run(redis, runKeys, [clock.wallMs(), leaseMs, archive]);
    if (reply !== "marked" && reply !== "gone") {
      const why = reply === "leased" ? "calls of it are still in flight" : `it is ${String(reply)}`;
      throw new SimfleetError("RUN_STATE_CONFLICT", `Run ${runId} cannot be deleted: ${why}; only a finished run can`);
    }
    const finished = new Set(await redis.hkeys(keys.runFinished(runId)));
    // A segment that is not finished has keys of its own.
    const open = segments.flatMap((_, segment) =>
      finished.has(String(segment)) ? [] : [keys.segmentOutcomes(runId, segment), keys.segmentTries(runId, segment)],
    );
    for (let at = 0; at < open.length; at += keysAtOnce) await redis.unlink(open.slice(at, at + keysAtOnce));
    // The input last: while it is there, the removal is not complete.
    await redis.unlink(keys.runInput(runId), keys.runFinished(runId));
  };

  /** Removes a run with its rows. @throws SimfleetError RUN_STATE_CONFLICT */
  const remove = async (run: Removed): Promise<void> => {
    const { runId } = run;
    await removeRows(run);
    await redis
      .multi()
      .unlink(keys.run(runId), keys.runLeases(runId), keys.runYields(runId), keys.pace(runId))
      .zrem(keys.runs(), runId)
      .exec();
  };

  return { hasRows, removeRows, remove };
}

/** Whether a run ended before an instant, in ms since the epoch; calls of it are no longer in flight. */
export function endedBefore({ state, isEnding, finishedAtMs, createdAtMs }: RunRecord, beforeMs: number): boolean {
  return isRunOver(state) && !isEnding && (finishedAtMs ?? createdAtMs) < beforeMs;
}

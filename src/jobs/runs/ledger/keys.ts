/** The Redis keys of runs. Only a run's head is read elsewhere too (redis/keys.ts). */
import type { Keys } from "#redis/keys.ts";

export type RunKeys = ReturnType<typeof runKeys>;

export function runKeys(keys: Keys) {
  const { run } = keys;
  const ofRun = (runId: string, ...parts: readonly (string | number)[]): string => keys.of("run", runId, ...parts);
  return {
    run,
    /** Sorted set: run IDs by creation time. */
    runs: () => keys.of("runs"),
    /** Set: the runs that have started; those that are over go with the next start (start-run.lua). */
    started: () => keys.of("runs", "started"),
    /** Hash with expiry: segment number to packed input rows of a run that is being submitted. */
    draft: (draftId: string) => keys.of("draft", draftId),
    /** Hash with expiry: planned runs and uploads in progress, to their expiry, bytes and owner. */
    plans: () => keys.of("plans"),
    /** Hash: segment number to packed input rows. */
    input: (runId: string) => ofRun(runId, "input"),
    /** Hash with expiry: leases of the workers on a run to their expiry. */
    leases: (runId: string) => ofRun(runId, "hands"),
    /** Set: later runs that have yet to supersede rows of this one, which makes no call until then. */
    yields: (runId: string) => ofRun(runId, "yields"),
    /** Hash: segment number to packed outcomes, once the segment is finished. */
    finished: (runId: string) => ofRun(runId, "finished"),
    /** Hash: row to its settled outcome, for a segment in progress. */
    outcomes: (runId: string, segment: number) => ofRun(runId, "segment", segment),
    /** Hash: row to its attempts so far, for a segment in progress. */
    tries: (runId: string, segment: number) => ofRun(runId, "segment", segment, "tries"),
    /** Hash: what the gate of a wave has found so far. */
    gate: (runId: string, wave: number) => ofRun(runId, "gate", wave),
  };
}

/** The runs of a drop folder's files: planned and submitted like a user's, with the same messages if that is impossible. */
import { randomUUID } from "node:crypto";
import { IntakeError, SimfleetError } from "#core/errors.ts";
import type { Clock } from "#core/time.ts";
import type { DropFolder } from "./config.ts";
import { isRunSettled } from "#fleet/run.ts";
import { withoutContent } from "#intake/columns.ts";
import { droppedFileRules } from "./folder.ts";
import type { RunService } from "#jobs/runs/service.ts";
import type { Planned } from "#jobs/runs/plan/plans.ts";
import { exitCodeOf } from "#jobs/runs/report.ts";
import { runIdFor } from "#jobs/runs/submit.ts";

export type FileRuns = ReturnType<typeof droppedFileRuns>;
/** Why a file cannot become a run; `faults`: its problems, one line each. */
export type Refusal = NonNullable<Awaited<ReturnType<FileRuns["submit"]>>>;
export type FileRun = NonNullable<Awaited<ReturnType<FileRuns["status"]>>>;

export function droppedFileRuns(deps: { runService: RunService; clock: Clock; folder: DropFolder }) {
  const { runService, clock, folder } = deps;
  return {
    newRunId: () => runIdFor(randomUUID(), clock.wallMs()),

    /** Submits a file as the run with this id, or returns why it cannot be one. @throws errors that may be temporary */
    async submit(path: string, { runId, name }: { runId: string; name: string }) {
      const { profile, operation, set, options } = folder;
      const order = { profile, operation, set, options, name: folder.name ?? name };
      let planned: Planned | undefined;
      try {
        planned = await runService.draft({ path, rules: droppedFileRules }, order, { source: name });
        await runService.submit(planned, { runId, by: "drop-folder", isUnattended: true });
        return undefined;
      } catch (thrown) {
        if (!isAboutTheFile(thrown)) throw thrown;
        const faults = planned?.report.problems.map((problem) => `line ${problem.line}: ${withoutContent(problem)}`);
        const reason = thrown instanceof IntakeError ? thrown.withoutContent : thrown.message;
        return { reason, faults: faults ?? [] };
      }
    },

    /** The run; undefined if it does not exist. `isGood`: every row is done or skipped; `sha256`: of the file as it was read */
    async status(runId: string) {
      if (!(await runService.exists(runId))) return undefined;
      const { state, tally: counts, reason, sha256 } = await runService.record(runId);
      if (!isRunSettled({ state, counts })) return { isOver: false } as const;
      const { total, done, skipped } = counts;
      const missing = `${total - done - skipped} of ${total} rows are not done`;
      const isGood = state === "completed" && exitCodeOf({ counts }) === 0;
      const why = reason ?? (isGood ? "" : missing);
      return { isOver: true, isGood, state: state as string, reason: why, sha256 } as const;
    },

    /** The results of a run that has ended, as CSV. */
    results: (runId: string): AsyncIterable<string> => runService.results(runId, { format: "csv" }),
  };
}

/** Whether the file itself is invalid, so that retrying is useless; an unreadable file may become readable later. */
function isAboutTheFile(thrown: unknown): thrown is SimfleetError {
  if (!(thrown instanceof SimfleetError)) return false;
  const isOfTheSystem = thrown.cause instanceof Error && "syscall" in thrown.cause;
  return (thrown.code === "INPUT_INVALID" || thrown.code === "USAGE") && !isOfTheSystem;
}

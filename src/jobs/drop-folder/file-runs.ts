/** The runs of a drop folder's files: planned and submitted like a user's, with the same messages if that is impossible. */
import { randomUUID } from "node:crypto";
import { IntakeError, SimfleetError } from "#core/errors.ts";
import type { Clock } from "#core/time.ts";
import type { DropFolder } from "#fleet/drop-folder.ts";
import { isRunSettled } from "#fleet/run.ts";
import { withoutContent } from "#intake/columns.ts";
import { droppedFileRules } from "./folder.ts";
import type { FileRuns } from "./work.ts";
import type { RunService } from "#jobs/runs/service.ts";
import type { Planned } from "#jobs/runs/plan/plans.ts";
import { exitCodeOf } from "#jobs/runs/report.ts";
import { runIdFor } from "#jobs/runs/submit.ts";

export function droppedFileRuns(deps: {
  readonly runService: RunService;
  readonly clock: Clock;
  readonly folder: DropFolder;
}): FileRuns {
  const { runService, clock, folder } = deps;
  return {
    newRunId: () => runIdFor(randomUUID(), clock.wallMs()),

    async submit(path, { runId, name }) {
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

    async status(runId) {
      if (!(await runService.exists(runId))) return undefined;
      const { state, tally: counts, reason, sha256 } = await runService.record(runId);
      if (!isRunSettled({ state, counts })) return { isOver: false };
      const { total, done, skipped } = counts;
      const missing = `${total - done - skipped} of ${total} rows are not done`;
      const isGood = state === "completed" && exitCodeOf({ counts }) === 0;
      return { isOver: true, isGood, state, reason: reason ?? (isGood ? "" : missing), sha256 };
    },

    results: (runId) => runService.results(runId, { format: "csv" }),
  };
}

/** Whether the file itself is invalid, so that retrying is useless; an unreadable file may become readable later. */
function isAboutTheFile(thrown: unknown): thrown is SimfleetError {
  if (!(thrown instanceof SimfleetError)) return false;
  const isOfTheSystem = thrown.cause instanceof Error && "syscall" in thrown.cause;
  return (thrown.code === "INPUT_INVALID" || thrown.code === "USAGE") && !isOfTheSystem;
}

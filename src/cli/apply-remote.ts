/** `plan` and `apply` with a remote worker: upload the file, download the results. */
import { Readable } from "node:stream";
import { IntakeError, messageOf } from "#core/errors.ts";
import { openFile } from "#core/open-file.ts";
import { visibleIn } from "#core/visible-text.ts";
import type { FailureLimit, RunOptions } from "#fleet/run.ts";
import type { PlanReport } from "#jobs/runs/plan/plan-report.ts";
import type { RunReport } from "#jobs/runs/report.ts";
import { writeResults } from "#jobs/runs/results.ts";
import { type Context, confirm } from "./context.ts";
import { followRemote } from "./follow/follow-remote-run.ts";
import { type Output, grouped } from "./output.ts";
import { planText } from "./plan-text.ts";
import type { RemoteWorker } from "./remote-worker.ts";
import { countsText, runText } from "./run-text.ts";

/** The rows to upload, and the options of the run. */
export interface RemoteOrder {
  readonly file: string | undefined;
  readonly where: readonly string[] | undefined;
  readonly speedClass: string | undefined;
  readonly name?: string | undefined;
  readonly options?: RunOptions;
}

export type RemotePlan = PlanReport & { readonly planId: string };

/** @throws IntakeError when the file cannot be read; what the worker refuses */
export async function planRemotely(worker: RemoteWorker, order: RemoteOrder): Promise<RemotePlan> {
  const { file, where, speedClass, name, options } = order;
  const query = worker.ofProfile({
    ...{ speedClass: file === undefined ? undefined : speedClass, name },
    ...{ partial: options?.partial, skipUnchanged: options?.skipUnchanged },
    ...{ canary: options?.canary, rate: options?.callsPerMinute, maxFailures: limitText(options?.maxFailures) },
  });
  const body = file === undefined ? { where: where ?? [], speedClass } : await streamOf(file);
  return worker.post<RemotePlan>("/v1/plans", { query, body });
}

/** Plans, confirms, starts and shows a run. @returns the exit code */
export async function applyRemotely(
  worker: RemoteWorker,
  order: RemoteOrder,
  how: {
    context: Context;
    output: Output;
    isAgreed: boolean;
    isDetached: boolean;
    resultsPathFor: (runId: string) => string | undefined;
  },
): Promise<number> {
  const { context, output } = how;
  const { io } = context;
  const plan = await planRemotely(worker, order);
  output.sayLines(planText(visibleIn(plan)));
  if (!how.isAgreed && !(await confirm(io, `Make ${grouped(plan.calls)} changes?`))) {
    output.say("Nothing was started.");
    return 2;
  }
  const begun = await worker.post<RunReport>("/v1/runs", { query: { planId: plan.planId } });
  const { runId } = begun;
  if (how.isDetached) {
    output.answer(begun, (shown) => shown.runId);
    return 0;
  }
  output.say(`Run ${runId} started.`);
  const path = how.resultsPathFor(runId);
  return showRemoteToEnd(worker, { ...{ runId, output, path }, interrupt: io.interrupt });
}

/**
 * Shows a run until it ends and prints its report; writes its results if a path is given.
 * @returns the exit code
 */
export async function showRemoteToEnd(
  worker: RemoteWorker,
  ask: { runId: string; output: Output; interrupt: AbortSignal; path?: string | undefined },
): Promise<number> {
  const { runId, output } = ask;
  const { report, exitCode } = await followRemote(worker, ask);
  const isOver = report.finishedAt !== null;
  const path = isOver ? ask.path : undefined;
  const remote = `simfleet runs results ${runId} --out FILE`;
  if (path !== undefined) {
    const lines = worker.text(`/v1/runs/${runId}/results`, { format: "csv" });
    await writeResults(path, lines, `No outcome is lost: write them to another path with ${remote}`);
  }
  output.answer(path === undefined ? report : { ...report, results: path }, (shown) =>
    isOver ? runText(shown) : countsText(shown),
  );
  if (isOver) output.say(`Results: ${path ?? remote}`);
  return exitCode;
}

async function streamOf(file: string): Promise<ReadableStream> {
  const handle = await openFile(file, { links: "follow" }).catch((thrown: unknown) => {
    throw new IntakeError(`The file ${file} cannot be read: ${messageOf(thrown)}`, { cause: thrown });
  });
  return Readable.toWeb(handle.createReadStream()) as ReadableStream;
}

function limitText(limit: FailureLimit | undefined): string | undefined {
  if (limit === undefined) return undefined;
  return "rows" in limit ? String(limit.rows) : `${limit.percent}%`;
}

/** Shows a run of a remote worker until it ends. Ctrl-C stops the display; the run continues. */
import { systemClock } from "#core/time.ts";
import { isRunSettled } from "#fleet/run.ts";
import { type RunReport, exitCodeOf } from "#jobs/runs/report.ts";
import { followWork } from "./follow-work.ts";
import type { Output } from "../output.ts";
import { Progress } from "./progress.ts";
import type { RemoteWorker } from "../remote-worker.ts";

/** @returns the last report of the run, and the exit code */
export async function followRemote(
  worker: RemoteWorker,
  { runId, output, interrupt }: { runId: string; output: Output; interrupt: AbortSignal },
): Promise<{ report: RunReport; exitCode: number }> {
  const progress = new Progress(output);
  const followed = await followWork<RunReport>({
    ...{ output, interrupt },
    report: () => worker.get<RunReport>(`/v1/runs/${encodeURIComponent(runId)}`),
    endOf: (report) => (report.state === "awaiting-approval" ? 0 : endOf(report)),
    show: (report) => progress.show(report, undefined, systemClock.monotonicMs()),
    leaving: () => `The run continues in its worker. Follow it with: simfleet runs watch ${runId}`,
  });
  const { state } = followed.report;
  if (state === "paused") output.say(`The run is paused. Resume with: simfleet runs resume ${runId}`);
  else if (state === "awaiting-approval") output.say("The run waits for approval by someone else.");
  return followed;
}

function endOf(report: RunReport): number | undefined {
  return isRunSettled(report) || report.state === "paused" ? exitCodeOf(report) : undefined;
}

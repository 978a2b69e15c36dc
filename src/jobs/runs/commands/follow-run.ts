/**
 * Shows a run until it ends. Without `--server` it also processes the run in this process while no live worker does.
 * `apply`, `runs resume`, `runs retry` and `runs watch` all use it. Ctrl-C stops the display and, if this process did the
 * work, pauses the run; the message says how to resume.
 */
import type { Caller } from "#cli/context.ts";
import { type End, followWork } from "#cli/follow/follow-work.ts";
import { counted, shellWord } from "#cli/format.ts";
import { messageOf } from "#core/errors.ts";
import { systemClock } from "#core/time.ts";
import { isRunOver, isRunSettled } from "#fleet/run.ts";
import type { BucketState } from "#limiter/limiter.ts";
import { type RunReport, showRun } from "../contract.ts";
import { runs } from "../feature.ts";
import { exitCodeOf } from "../report.ts";
import { Progress } from "./progress.ts";

export interface FollowRequest extends Pick<Caller, "client" | "app" | "output"> {
  readonly runId: string;
  readonly interrupt: AbortSignal;
  /** `watch` never processes the run itself. */
  readonly mode: "work" | "watch";
  /** How to resume the run; default: `simfleet runs resume RUN`. */
  readonly resumeCommand?: string | undefined;
  /** Where its results would be written. */
  readonly resultsPath?: string | undefined;
}

interface Snapshot {
  readonly report: RunReport;
  /** The quota that the run spends; undefined with a remote worker. */
  readonly bucket: BucketState | undefined;
}

/**
 * @returns the last report of the run, and the exit code
 * @throws SimfleetError RUN_NOT_FOUND, STORE_UNAVAILABLE, WORKER_UNREACHABLE
 */
export async function follow(request: FollowRequest): Promise<{ report: RunReport; exitCode: number }> {
  const { client, app, output, runId, interrupt, mode, resultsPath } = request;
  const { resumeCommand = `simfleet runs resume ${runId}` } = request;
  const service = app?.service(runs);
  const run = await service?.ledger.run(runId);
  const progress = new Progress(output);
  const { report, exitCode } = await followWork<Snapshot>({
    output,
    interrupt,
    what: "run",
    isRemote: app === undefined,
    resumeCommand,
    localWork:
      service === undefined || run === undefined || mode === "watch"
        ? undefined
        : {
            isServed: () => service.isServed(run.bucket),
            work: (onIncident) => service.consume(run, onIncident),
          },
    report: async () => {
      const [shown, bucket] = await Promise.all([
        client.call(showRun, { params: { runId } }),
        run && app?.kernel.limiter.state(run.bucket),
      ]);
      return { report: shown, bucket };
    },
    show: (poll) => progress.show(poll.report, poll.bucket, systemClock.monotonicMs()),
    endOf: (poll) => endOf(poll.report, mode),
    beforeStop: async (refusal) => {
      if (refusal === undefined) output.say("Stopping: waiting for calls in flight …");
      const reason = refusal?.message ?? stopReason(interrupt);
      await service?.service.control.pause(runId, { reason }).catch(() => undefined);
    },
    leaving: (poll, { wasLocal }) => leaving(poll.report, wasLocal, resumeCommand, resultsPath),
  });
  return { report: report.report, exitCode };
}

function endOf(report: RunReport, mode: FollowRequest["mode"]): End | undefined {
  const { runId, state, reason } = report;
  const exitCode = exitCodeOf(report);
  const halt = (line: string): End => ({ exitCode, lines: [line], isHalt: true });
  if (isRunSettled(report)) return { exitCode };
  if (state === "paused") {
    return halt(`The run was paused${reason ? ` (${reason})` : ""}. Resume with: simfleet runs resume ${runId}`);
  }
  if (state !== "awaiting-approval" || mode === "watch") return undefined;
  return halt(`The run is waiting for approval by someone else: simfleet runs approve ${runId}`);
}

function leaving(report: RunReport, wasLocal: boolean, resumeCommand: string, resultsPath: string | undefined): End {
  const { runId, state, counts } = report;
  const exitCode = exitCodeOf(report);
  if (!wasLocal) {
    const follows = `The run continues in its worker. Follow it with: simfleet runs watch ${runId}`;
    const results = `Get its results with: simfleet runs results ${runId} --out ${shellWord(resultsPath ?? "FILE")}`;
    return { exitCode, lines: [follows, `Pause it with: simfleet runs pause ${runId}`, results] };
  }
  if (isRunOver(state)) return { exitCode };
  const left = `Paused. ${counted(counts.pending, "row")} left; nothing is lost.`;
  return { exitCode, lines: [left, `Resume with: ${resumeCommand}`] };
}

/** `stopped with Ctrl-C`, or such as `stopped by SIGTERM`: the signal as the entry point reports it. */
export function stopReason({ reason }: AbortSignal): string {
  const signal = messageOf(reason);
  return /^stopped by SIG(TERM|HUP)$/.test(signal) ? signal : "stopped with Ctrl-C";
}

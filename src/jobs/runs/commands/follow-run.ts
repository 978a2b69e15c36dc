/**
 * Shows a run until it ends. Without `--server` it also processes the run in this process while no live worker does.
 * `apply`, `runs resume`, `runs retry` and `runs watch` all use it. Ctrl-C stops the display and, if this process did
 * the work, pauses the run; the message says how to resume.
 */
import type { Caller } from "#cli/context.ts";
import { type End, followWork, localWork, plainLines } from "#cli/follow/follow-work.ts";
import { counted, duration, nextAttemptText, problemText, shellWord } from "#cli/format.ts";
import { grouped } from "#core/grouped.ts";
import type { Output } from "#cli/output.ts";
import { messageOf } from "#core/errors.ts";
import { systemClock } from "#core/time.ts";
import { isRunOver, isRunSettled } from "#fleet/run.ts";
import type { BucketState } from "#limiter/limiter.ts";
import { type RunReport, showRun } from "../contract.ts";
import { runs } from "../feature.ts";
import { exitCodeOf } from "../report.ts";
import { stateName } from "./run-text.ts";

export interface FollowRequest extends Pick<Caller, "client" | "app" | "output" | "interrupt"> {
  readonly runId: string;
  /** `watch` never processes the run itself. */
  readonly mode: "work" | "watch";
  /** How to resume the run; default: `simfleet runs resume RUN`. */
  readonly resumeCommand?: string | undefined;
  /** Where its results would be written. */
  readonly resultsPath?: string | undefined;
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
  const showProgress = progressOf(output);
  const { report: last, exitCode } = await followWork({
    ...request,
    what: "run",
    resumeCommand,
    localWork: run && mode === "work" ? localWork(app, runs, run) : undefined,
    // With the quota that it spends; undefined with a remote worker.
    report: () =>
      Promise.all([client.call(showRun, { params: { runId } }), run && app?.kernel.limiter.state(run.bucket)]),
    show: ([report, bucket]) => showProgress(report, bucket, systemClock.monotonicMs()),
    endOf: ([report]) => decideEnd(report, mode),
    beforeStop: async (refusal) => {
      if (refusal === undefined) output.say("Stopping: waiting for calls in flight …");
      const reason = refusal?.message ?? stopReason(interrupt);
      await service?.service.control.pause(runId, { reason }).catch(() => undefined);
    },
    leaving: ([report], { wasLocal }) => (wasLocal ? stopped(report, resumeCommand) : detached(report, resultsPath)),
  });
  return { report: last[0], exitCode };
}

function decideEnd(report: RunReport, mode: FollowRequest["mode"]): End | undefined {
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

/** The end of a command that leaves the run to its worker. */
function detached(report: RunReport, resultsPath = "FILE"): End {
  const { runId } = report;
  const follows = `The run continues in its worker. Follow it with: simfleet runs watch ${runId}`;
  const results = `Get its results with: simfleet runs results ${runId} --out ${shellWord(resultsPath)}`;
  return { exitCode: exitCodeOf(report), lines: [follows, `Pause it with: simfleet runs pause ${runId}`, results] };
}

/** The end of a command that worked on the run itself. */
function stopped(report: RunReport, resumeCommand: string): End {
  const exitCode = exitCodeOf(report);
  if (isRunOver(report.state)) return { exitCode };
  const pending = `Paused. ${counted(report.counts.pending, "row")} left; nothing is lost.`;
  return { exitCode, lines: [pending, `Resume with: ${resumeCommand}`] };
}

/** `stopped with Ctrl-C`, or such as `stopped by SIGTERM`: the signal as the entry point reports it. */
export function stopReason({ reason }: AbortSignal): string {
  const signal = messageOf(reason);
  return /^stopped by SIG(TERM|HUP)$/.test(signal) ? signal : "stopped with Ctrl-C";
}

// The progress of a run.

const barCells = 24;
/** Terminals with fewer columns get a short bar. */
const narrow = 80;
const lineEveryMs = 5_000;
/** The rate is measured over this many milliseconds. */
const rateOverMs = 10_000;

/** Shows the progress of a run: one live line on a terminal, occasional lines in a pipe. */
export function progressOf(output: Output) {
  const samples: { atMs: number; settled: number }[] = [];
  const showLine = plainLines(output, lineEveryMs);
  /**
   * @param bucket the quota that the run spends; undefined where it is not known, as with a remote worker
   * @param nowMs monotonic
   */
  return (report: RunReport, bucket: BucketState | undefined, nowMs: number): void => {
    samples.push({ atMs: nowMs, settled: settledRows(report) });
    while ((samples[0]?.atMs ?? nowMs) < nowMs - rateOverMs) samples.shift();
    if (output.isLive) return output.live(liveLine(report, bucket, { rate: formatRate(samples), width: output.width }));
    // A problem is shown with --json as well: stderr is for people.
    if (output.isJson && report.problem === undefined) return;
    showLine(plainLine(report, bucket), { topic: `${report.state} ${report.problem?.message ?? ""}`, nowMs });
  };
}

function liveLine(
  report: RunReport,
  bucket: BucketState | undefined,
  { rate, width }: { readonly rate: string; readonly width: number },
): string {
  const { counts, problem } = report;
  const settled = settledRows(report);
  const cells = width < narrow ? 10 : barCells;
  const full = Math.round((counts.total === 0 ? 1 : settled / counts.total) * cells);
  const bar = `${"█".repeat(full)}${"░".repeat(cells - full)}`;
  const rows = `${bar} ${grouped(settled)}/${grouped(counts.total)}`;
  // A problem is shown as far as it fits.
  if (problem !== undefined && report.frozen === undefined)
    return [rows, nextAttemptText(problem), problem.message].filter(Boolean).join(" · ");
  const isMoving = report.state === "running" && report.frozen === undefined;
  const state = isMoving ? `${rate}/s` : stateName(report);
  const left = report.etaSeconds ? `ETA ${duration(report.etaSeconds * 1_000)}` : "";
  return fitting([rows, state, failureText(report), windowText(bucket), left].filter(Boolean), width);
}

function formatRate(samples: readonly { readonly atMs: number; readonly settled: number }[]): string {
  const [first, last] = [samples[0], samples.at(-1)];
  if (first === undefined || last === undefined || last.atMs - first.atMs < 200) return "–";
  return ((1_000 * (last.settled - first.settled)) / (last.atMs - first.atMs)).toFixed(0);
}

/** The parts that fit whole. */
function fitting(parts: readonly string[], width: number): string {
  return parts.reduce((line, part) => (line.length + part.length + 3 < width ? `${line} · ${part}` : line));
}

function plainLine(report: RunReport, bucket: BucketState | undefined): string {
  const { runId, counts, problem, etaSeconds } = report;
  const settled = settledRows(report);
  const percent = counts.total === 0 ? 100 : Math.floor((100 * settled) / counts.total);
  const rows = `${runId} ${stateName(report)}: ${grouped(settled)} of ${grouped(counts.total)} rows (${percent}%)`;
  const left = etaSeconds ? `about ${duration(etaSeconds * 1_000)} left` : "";
  const parts =
    problem === undefined || report.frozen !== undefined
      ? [rows, windowText(bucket), left, failureText(report)]
      : [rows, failureText(report), problemText(problem)];
  return parts.filter(Boolean).join(", ");
}

/** Calls left in the current window, and the time until the next one. */
function windowText(bucket: BucketState | undefined): string {
  if (bucket === undefined) return "";
  if (bucket.limit === undefined) return "waiting for the first response";
  const left = bucket.left === undefined ? "" : `quota ${grouped(bucket.left)}/${grouped(bucket.limit)}`;
  const untilMs = (bucket.refreshLatestMs ?? bucket.nowMs) - bucket.nowMs;
  const reset = untilMs > 0 ? `resets in ${duration(untilMs)}` : "";
  return [left, reset].filter(Boolean).join(", ");
}

function failureText({ counts: { rejected, failed } }: RunReport): string {
  const parts = [rejected > 0 && `${grouped(rejected)} rejected`, failed > 0 && `${grouped(failed)} failed`];
  return parts.filter(Boolean).join(", ");
}

function settledRows({ counts }: RunReport): number {
  return counts.total - counts.pending;
}

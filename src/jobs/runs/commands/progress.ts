/** Renders a run's progress: one live line on a terminal, occasional lines in a pipe. */
import type { BucketState } from "#limiter/limiter.ts";
import type { RunReport } from "../contract.ts";
import { grouped, duration, nextAttemptText, problemText } from "#cli/format.ts";
import type { Output } from "#cli/output.ts";
import { stateName } from "./run-text.ts";
import { plainLines } from "#cli/follow/follow-work.ts";

const barCells = 24;
/** Terminals with fewer columns get a short bar. */
const narrow = 80;
const lineEveryMs = 5_000;
/** The rate is measured over this many milliseconds. */
const rateOverMs = 10_000;

export class Progress {
  readonly #output: Output;
  readonly #samples: { atMs: number; settled: number }[] = [];
  readonly #showLine: ReturnType<typeof plainLines>;

  constructor(output: Output) {
    this.#output = output;
    this.#showLine = plainLines(output, lineEveryMs);
  }

  /**
   * @param bucket the quota that the run spends; undefined where it is not known, as with a remote worker
   * @param nowMs monotonic
   */
  show(report: RunReport, bucket: BucketState | undefined, nowMs: number): void {
    const settled = settledRows(report);
    this.#samples.push({ atMs: nowMs, settled });
    while ((this.#samples[0]?.atMs ?? nowMs) < nowMs - rateOverMs) this.#samples.shift();
    if (this.#output.isLive) {
      this.#output.live(this.#liveLine(report, bucket));
      return;
    }
    // A problem is shown with --json as well: stderr is for people.
    if (this.#output.isJson && report.problem === undefined) return;
    this.#showLine(plainLine(report, bucket), { topic: `${report.state} ${report.problem?.message ?? ""}`, nowMs });
  }

  #liveLine(report: RunReport, bucket: BucketState | undefined): string {
    const { counts, problem } = report;
    const settled = settledRows(report);
    const { width } = this.#output;
    const cells = width < narrow ? 10 : barCells;
    const full = Math.round((counts.total === 0 ? 1 : settled / counts.total) * cells);
    const bar = `${"█".repeat(full)}${"░".repeat(cells - full)}`;
    const rows = `${bar} ${grouped(settled)}/${grouped(counts.total)}`;
    // A problem is shown as far as it fits.
    if (problem !== undefined && report.frozen === undefined)
      return [rows, nextAttemptText(problem), problem.message].filter(Boolean).join(" · ");
    const isMoving = report.state === "running" && report.frozen === undefined;
    const state = isMoving ? `${this.#rate()}/s` : stateName(report);
    const left = report.etaSeconds ? `ETA ${duration(report.etaSeconds * 1_000)}` : "";
    return fitting([rows, state, failureText(report), windowText(bucket), left].filter(Boolean), width);
  }

  #rate(): string {
    const first = this.#samples[0];
    const last = this.#samples.at(-1);
    if (first === undefined || last === undefined || last.atMs - first.atMs < 200) return "–";
    return ((1_000 * (last.settled - first.settled)) / (last.atMs - first.atMs)).toFixed(0);
  }
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

/** A run's progress as text: one line that is kept up to date on a terminal, a line now and then in a pipe. */
import type { BucketState } from "#limiter/limiter.ts";
import type { RunReport } from "#runs/report.ts";
import { type Output, duration, grouped } from "./output.ts";

const barCells = 24;
const lineEveryMs = 5_000;
/** The rate shown is that of the last so many milliseconds. */
const rateOverMs = 10_000;

export class Progress {
  readonly #output: Output;
  readonly #samples: { atMs: number; settled: number }[] = [];
  #lastLineMs = Number.NEGATIVE_INFINITY;
  #lastLine = "";

  constructor(output: Output) {
    this.#output = output;
  }

  /** @param nowMs monotonic */
  show(report: RunReport, bucket: BucketState, nowMs: number): void {
    const settled = settledRows(report);
    this.#samples.push({ atMs: nowMs, settled });
    while ((this.#samples[0]?.atMs ?? nowMs) < nowMs - rateOverMs) this.#samples.shift();
    if (this.#output.isLive) {
      this.#output.live(this.#liveLine(report, bucket));
      return;
    }
    const line = plainLine(report, bucket);
    const isDue = nowMs - this.#lastLineMs >= lineEveryMs || report.state !== "running";
    if (this.#output.isJson || !isDue || line === this.#lastLine) return;
    this.#lastLineMs = nowMs;
    this.#lastLine = line;
    this.#output.say(line);
  }

  #liveLine(report: RunReport, bucket: BucketState): string {
    const { counts } = report;
    const share = counts.total === 0 ? 1 : settledRows(report) / counts.total;
    const full = Math.round(share * barCells);
    const bar = `${"█".repeat(full)}${"░".repeat(barCells - full)}`;
    const parts = [
      `${bar} ${grouped(settledRows(report))}/${grouped(counts.total)}`,
      report.state === "running" ? `${this.#rate()}/s` : report.state,
      windowText(bucket),
      report.etaSeconds ? `ETA ${duration(report.etaSeconds * 1_000)}` : "",
      troubleText(report),
    ];
    return parts.filter((part) => part !== "").join(" · ");
  }

  #rate(): string {
    const first = this.#samples[0];
    const last = this.#samples.at(-1);
    if (first === undefined || last === undefined || last.atMs - first.atMs < 200) return "–";
    return ((1_000 * (last.settled - first.settled)) / (last.atMs - first.atMs)).toFixed(0);
  }
}

function plainLine(report: RunReport, bucket: BucketState): string {
  const { counts } = report;
  const percent = counts.total === 0 ? 100 : Math.floor((100 * settledRows(report)) / counts.total);
  const parts = [
    `${report.runId} ${report.state}: ${grouped(settledRows(report))} of ${grouped(counts.total)} rows (${percent} %)`,
    windowText(bucket),
    report.etaSeconds ? `about ${duration(report.etaSeconds * 1_000)} left` : "",
    troubleText(report),
  ];
  return parts.filter((part) => part !== "").join(", ");
}

/** What is left of the present window, and when the next one opens. */
function windowText(bucket: BucketState): string {
  if (bucket.limit === undefined) return "asking for the quota";
  const left = bucket.left === undefined ? "" : `quota ${grouped(bucket.left)}/${grouped(bucket.limit)}`;
  const untilMs = (bucket.refreshLatestMs ?? bucket.nowMs) - bucket.nowMs;
  const refresh = untilMs > 0 ? `refresh in ${duration(untilMs)}` : "";
  return [left, refresh].filter((part) => part !== "").join(", ");
}

function troubleText({ counts }: RunReport): string {
  const parts = [
    counts.rejected > 0 ? `${grouped(counts.rejected)} rejected` : "",
    counts.failed > 0 ? `${grouped(counts.failed)} failed` : "",
  ];
  return parts.filter((part) => part !== "").join(", ");
}

function settledRows({ counts }: RunReport): number {
  return counts.total - counts.pending;
}

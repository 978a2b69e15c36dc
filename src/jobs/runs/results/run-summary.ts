/**
 * The rows of a run over time and by reason: what a person looks at first when rows fail. Every row is read once: the
 * counts of a segment whose rows all have their outcome are kept, since these do not change, and only the other segments
 * are read again. The first answer for a large run takes seconds, so an answer is kept for ten times as long as it took,
 * and concurrent callers share it.
 */
import type { Clock } from "#core/time.ts";
import { isRunOver, type Outcome } from "#fleet/run.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { RunRecord } from "../ledger/run-record.ts";
import { segmentResults, type RowResult } from "./results.ts";
import type { RunSummary } from "../contract.ts";

const maxWindows = 60;
const maxReasons = 50;
const minKeptMs = 2_000;
const maxKept = 100;

interface Kept {
  readonly summary: Promise<RunSummary>;
  readonly settled: Settled;
  untilMs: number;
}

/** The segments of a run whose rows all have their outcome, and their counts. */
interface Settled {
  readonly segments: Set<number>;
  readonly tally: RowTally;
}

export class RunSummaries {
  readonly #ledger: Ledger;
  readonly #clock: Clock;
  readonly #periodMs: number;
  readonly #kept = new Map<string, Kept>();

  /** @param deps `periodMs`: the quota's period, of which a window of the summary is a multiple */
  constructor(deps: { ledger: Ledger; clock: Clock; periodMs: number }) {
    this.#ledger = deps.ledger;
    this.#clock = deps.clock;
    this.#periodMs = deps.periodMs;
  }

  /** @throws SimfleetError RUN_NOT_FOUND, or ROWS_REMOVED if its rows are no longer stored */
  of(runId: string): Promise<RunSummary> {
    const known = this.#kept.get(runId);
    const startMs = this.#clock.monotonicMs();
    if (known !== undefined && startMs < known.untilMs) return known.summary;
    const settled = known?.settled.tally.isSmall === true ? known.settled : this.#nothingSettled();
    const kept: Kept = { summary: this.#count(runId, settled), settled, untilMs: Infinity };
    this.#kept.delete(runId);
    this.#kept.set(runId, kept);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > maxKept && oldest !== undefined) this.#kept.delete(oldest);
    const keep = (): void => {
      const nowMs = this.#clock.monotonicMs();
      kept.untilMs = nowMs + Math.max(minKeptMs, 10 * (nowMs - startMs));
    };
    kept.summary.then(keep, () => this.#kept.delete(runId));
    return kept.summary;
  }

  #nothingSettled(): Settled {
    return { segments: new Set(), tally: new RowTally(this.#periodMs) };
  }

  async #count(runId: string, settled: Settled): Promise<RunSummary> {
    const atMs = this.#clock.wallMs();
    const run = await this.#ledger.run(runId);
    const open = new RowTally(this.#periodMs);
    const unread = [...run.segments.keys()].filter((segment) => !settled.segments.has(segment));
    for await (const { segment, rows } of segmentResults(run, this.#ledger, unread)) {
      // A row without an outcome of its own is pending, or cancelled once its run is over.
      const isSettled = rows.every(({ outcome }) => outcome !== "pending" && outcome !== "cancelled");
      (isSettled ? settled.tally : open).add(rows);
      if (isSettled) settled.segments.add(segment);
    }
    const windowMs = this.#windowMs(run);
    const { windows, reasons } = settled.tally.with(open, windowMs);
    return {
      at: new Date(atMs).toISOString(),
      windowSeconds: windowMs / 1_000,
      windows,
      reasons: reasons.slice(0, maxReasons),
      reasonsInAll: reasons.length,
    };
  }

  /** So long that the run has at most so many windows. */
  #windowMs({ createdAtMs, startedAtMs, finishedAtMs, state }: RunRecord): number {
    const endMs = isRunOver(state) && finishedAtMs !== undefined ? finishedAtMs : this.#clock.wallMs();
    const spanMs = Math.max(1, endMs - (startedAtMs ?? createdAtMs));
    return this.#periodMs * Math.max(1, Math.ceil(spanMs / this.#periodMs / maxWindows));
  }
}

// Counts rows by the period in which they got their outcome, and by the reason of their outcome.

/** A tally with more reasons takes too much memory to be kept: each row may have its own. */
const maxKeptReasons = 10_000;

type Window = RunSummary["windows"][number];
type Counts = { -readonly [Name in Exclude<keyof Window, "at">]: number };
type Reason = { readonly outcome: Outcome; readonly reason: string; rows: number };

class RowTally {
  readonly #periodMs: number;
  /** By the beginning of the period. */
  readonly #periods = new Map<number, Counts>();
  readonly #reasons = new Map<string, Reason>();

  constructor(periodMs: number) {
    this.#periodMs = periodMs;
  }

  get isSmall(): boolean {
    return this.#reasons.size <= maxKeptReasons;
  }

  add(rows: readonly RowResult[]): void {
    for (const { outcome, reason, attempts, finishedAt } of rows) {
      if (outcome === "pending") continue;
      if (reason !== "" && outcome !== "done" && outcome !== "skipped") {
        addReason(this.#reasons, { outcome, reason, rows: 1 });
      }
      if (finishedAt === "" || outcome === "cancelled") continue;
      const at = Math.floor(Date.parse(finishedAt) / this.#periodMs) * this.#periodMs;
      const counts = this.#periods.get(at) ?? noRows();
      counts[outcome] += 1;
      counts.calls += attempts;
      this.#periods.set(at, counts);
    }
  }

  /**
   * The counts of both, windows in order and the most frequent reason first.
   * @param windowMs a multiple of the period
   */
  with(other: RowTally, windowMs: number): { windows: Window[]; reasons: Reason[] } {
    const windows = new Map<number, Counts>();
    const reasons = new Map<string, Reason>();
    for (const tally of [this, other]) {
      for (const [periodAt, counts] of tally.#periods) {
        const at = Math.floor(periodAt / windowMs) * windowMs;
        const sum = windows.get(at) ?? noRows();
        for (const name of Object.keys(sum) as (keyof Counts)[]) sum[name] += counts[name];
        windows.set(at, sum);
      }
      for (const reason of tally.#reasons.values()) addReason(reasons, { ...reason });
    }
    return {
      windows: [...windows]
        .toSorted(([a], [b]) => a - b)
        .map(([at, counts]) => ({ at: new Date(at).toISOString(), ...counts })),
      reasons: [...reasons.values()].toSorted((a, b) => b.rows - a.rows),
    };
  }
}

function noRows(): Counts {
  return { calls: 0, done: 0, skipped: 0, rejected: 0, failed: 0, unknown: 0 };
}

function addReason(reasons: Map<string, Reason>, added: Reason): void {
  const key = `${added.outcome} ${added.reason}`;
  const known = reasons.get(key);
  if (known === undefined) reasons.set(key, added);
  else known.rows += added.rows;
}

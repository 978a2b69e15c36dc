/**
 * The rows of a run over time and by reason: what a person looks at first when rows fail. One pass over the results
 * counts both. A large run takes seconds, so an answer is kept for ten times as long as it took, and concurrent callers
 * share it; that of a run that is over does not change.
 */
import type { Clock } from "#core/time.ts";
import { type Outcome, isRunOver } from "#fleet/run.ts";
import type { RunSummary } from "../summary-contract.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { RunRecord } from "../ledger/run-record.ts";
import { rowResults } from "./results.ts";

const mostWindows = 60;
const mostReasons = 50;
const leastKeptMs = 2_000;
const mostKept = 100;

interface Kept {
  readonly summary: Promise<RunSummary>;
  untilMs: number;
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
    const kept: Kept = { summary: this.#count(runId), untilMs: Infinity };
    this.#kept.delete(runId);
    this.#kept.set(runId, kept);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > mostKept && oldest !== undefined) this.#kept.delete(oldest);
    const keep = (): void => {
      const nowMs = this.#clock.monotonicMs();
      kept.untilMs = nowMs + Math.max(leastKeptMs, 10 * (nowMs - startMs));
    };
    kept.summary.then(keep, () => this.#kept.delete(runId));
    return kept.summary;
  }

  async #count(runId: string): Promise<RunSummary> {
    const run = await this.#ledger.run(runId);
    const windowMs = this.#windowMs(run);
    const windows = new Map<number, Record<CountedOutcome | "calls", number>>();
    const reasons = new Map<string, { readonly outcome: Outcome; readonly reason: string; rows: number }>();
    for await (const { outcome, reason, attempts, finishedAt } of rowResults(run, this.#ledger)) {
      if (outcome === "pending") continue;
      if (reason !== "" && outcome !== "done" && outcome !== "skipped") {
        const key = `${outcome} ${reason}`;
        const known = reasons.get(key);
        if (known === undefined) reasons.set(key, { outcome, reason, rows: 1 });
        else known.rows += 1;
      }
      if (finishedAt === "" || outcome === "cancelled") continue;
      const at = Math.floor(Date.parse(finishedAt) / windowMs) * windowMs;
      const counts = windows.get(at) ?? { calls: 0, done: 0, skipped: 0, rejected: 0, failed: 0, unknown: 0 };
      counts[outcome] += 1;
      counts.calls += attempts;
      windows.set(at, counts);
    }
    const byCount = [...reasons.values()].toSorted((a, b) => b.rows - a.rows);
    return {
      windowSeconds: windowMs / 1_000,
      windows: [...windows]
        .toSorted(([a], [b]) => a - b)
        .map(([at, counts]) => ({ at: new Date(at).toISOString(), ...counts })),
      reasons: byCount.slice(0, mostReasons),
      reasonsInAll: byCount.length,
    };
  }

  /** So long that the run has at most so many windows. */
  #windowMs({ createdAtMs, startedAtMs, finishedAtMs, state }: RunRecord): number {
    const endMs = isRunOver(state) && finishedAtMs !== undefined ? finishedAtMs : this.#clock.wallMs();
    const spanMs = Math.max(1, endMs - (startedAtMs ?? createdAtMs));
    return this.#periodMs * Math.max(1, Math.ceil(spanMs / this.#periodMs / mostWindows));
  }
}

/** Outcomes that belong to a time. */
type CountedOutcome = Exclude<Outcome, "pending" | "cancelled">;

/** Counts rows by the period in which they got their outcome, and by the reason of their outcome. */
import type { Outcome } from "#fleet/run.ts";
import type { RunSummary } from "../summary-contract.ts";
import type { RowResult } from "./results.ts";

/** A tally with more reasons takes too much memory to be kept: each row may have its own. */
const mostKeptReasons = 10_000;

type Window = RunSummary["windows"][number];
type Counts = { -readonly [Name in Exclude<keyof Window, "at">]: number };
type Reason = { readonly outcome: Outcome; readonly reason: string; rows: number };

export class RowTally {
  readonly #periodMs: number;
  /** By the beginning of the period. */
  readonly #periods = new Map<number, Counts>();
  readonly #reasons = new Map<string, Reason>();

  constructor(periodMs: number) {
    this.#periodMs = periodMs;
  }

  get isSmall(): boolean {
    return this.#reasons.size <= mostKeptReasons;
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

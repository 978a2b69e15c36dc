/** Runs to try the ledger with: heads with sensible values everywhere, and the rows that belong to them. */
import type { RedisMemory } from "#redis/node.ts";
import { setSpeedClass, simChangeOf } from "#fleet/sim-operation/sim-operation.ts";
import { randomBytes } from "node:crypto";
import type { OpenInputs, SealInputs } from "#jobs/runs/sealed-inputs.ts";
import type { Ledger } from "#jobs/runs/ledger/ledger.ts";
import { type RowResult, rowResults } from "#jobs/runs/results/results.ts";
import type { Settled, StoredRow } from "#jobs/runs/ledger/packing.ts";
import type { RunHead, RunRecord } from "#jobs/runs/ledger/run-record.ts";

export const begunAtMs = 1_790_000_000_000;

/** The waves of a run: so many calls in each, a segment after the other. */
export function wavesOf(calls: readonly number[], judged: readonly number[] = []): RunHead["waves"] {
  return calls.map((count, i) => ({ end: i + 1, calls: count, met: count, judged: judged[i] ?? 0 }));
}

/** A run whose segments have rows of the given weights. */
export function runOf(
  weights: readonly (readonly number[])[],
  more: Partial<RunHead> = {},
): { head: RunHead; segments: StoredRow[][] } {
  let index = 0;
  const segments = weights.map((inSegment) =>
    inSegment.map((weight): StoredRow => {
      index += 1;
      return {
        index: index - 1,
        line: index + 1,
        key: `89423${String(index).padStart(14, "0")}`,
        inputs: ["s1.fast"],
        cells: ["a", "ü"],
        weight,
      };
    }),
  );
  let firstRow = 0;
  const spans = segments.map((rows) => {
    firstRow += rows.length;
    return { firstRow: firstRow - rows.length, callable: rows.length };
  });
  const head: RunHead = {
    runId: `r-${randomBytes(6).toString("hex")}`,
    name: "Tōkyō",
    profile: "default",
    bucket: "default.Sim",
    options: {
      partial: false,
      skipUnchanged: false,
    },
    header: ["simId", "speedClass"],
    operations: [setSpeedClass],
    sha256: "0".repeat(64),
    total: weights.flat().reduce((sum, weight) => sum + weight, 0),
    rejectedAtIntake: 0,
    skippedAtIntake: 0,
    segments: spans,
    waves: [],
    createdAtMs: begunAtMs,
    ...more,
  };
  return { head, segments };
}

/** The results of a run's rows, in their order. */
export async function readResults(ledger: Ledger, runId: string): Promise<RowResult[]> {
  const results: RowResult[] = [];
  for await (const result of rowResults(await ledger.run(runId), ledger)) results.push(result);
  return results;
}

/** All runs, newest first. */
export async function allRuns(ledger: Ledger): Promise<RunRecord[]> {
  const all: RunRecord[] = [];
  for await (const run of ledger.newest()) all.push(run);
  return all;
}

export async function submit(
  ledger: Ledger,
  weights: readonly (readonly number[])[],
  more: Partial<RunHead> = {},
  rowOf: (row: StoredRow) => StoredRow = (row) => row,
): Promise<RunHead> {
  const { head, segments } = runOf(weights, more);
  for (const [segment, rows] of segments.entries()) await ledger.draftSegment(head.runId, segment, rows.map(rowOf));
  await ledger.commit(head, "running", head.runId);
  return head;
}

export function settledAs(outcome: Settled["outcome"], attempts = 1): Settled {
  return { outcome, reason: "because", previous: ["s1.slow"], attempts, finishedAtMs: begunAtMs + attempts };
}

/** A row that ended like this, as the ledger settles it. */
export function rowAs(outcome: Settled["outcome"], place = 0, weight = 1) {
  return { place, key: `8942300000${place}`, weight, settled: settledAs(outcome) };
}

/** How much of the past tests keep. */
export const keptBounds = { keepMs: 86_400_000, maxEvents: 1_000_000 };

/** The lock of rows that set a class, by SIM. */
export function lockOf(...rows: readonly (readonly [key: string, speedClass: string])[]) {
  return new Map(
    rows.map(([key, speedClass]) => [key, simChangeOf(setSpeedClass, [["speedClass", speedClass]])] as const),
  );
}

/** What work on runs needs to open inputs; none is sealed. */
export const openInputs: OpenInputs = (_, inputs) => Promise.resolve(inputs);
export const sealInputs: SealInputs = { assertKey: () => undefined, seal: (rows) => Promise.resolve(rows) };
export const noPolicy = { maxChanges: undefined, approvalAbove: undefined, approvalFor: [] } as const;
export const operations = new Map([[setSpeedClass.name, setSpeedClass]]);

/** A Redis without a limit of memory. */
export const memory = (): Promise<RedisMemory> =>
  Promise.resolve({ usedBytes: 0, limitBytes: 0, limitFrom: "machine" });

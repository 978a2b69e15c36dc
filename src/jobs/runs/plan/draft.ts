/**
 * Writes the rows of a source to the ledger as a draft: one pass over the rows, one look at the inventory, one write of
 * each segment. A draft becomes a planned run or a started one, or it is discarded; its keys expire in any case. What
 * only the end of the rows shows (conflicts, rows that share a call) is written to the segments concerned once more.
 */
import { randomUUID } from "node:crypto";
import { letNewSpaceGrow } from "#core/process/heap-room.ts";
import type { RunOptions } from "#fleet/run.ts";
import { parseGate, waveEnds } from "#fleet/waves.ts";
import type { LateRows } from "#intake/read-rows.ts";
import type { RedisMemory } from "#redis/node.ts";
import { percent } from "../contract.ts";
import type { RowGroup, RunHead, RunRecord, SegmentSpan, Wave } from "../ledger/run-record.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { type StoredRow, isCallable } from "../ledger/packing.ts";
import type { SealInputs } from "../sealed-inputs.ts";
import { PlanTally } from "./tally.ts";
import { SimfleetError } from "#core/errors.ts";
import { assertFieldsKnown } from "#jobs/inventory/sims.ts";
import type { Inventory } from "#jobs/inventory/store/inventory.ts";

/** Rows to be drafted, and what they are for. */
export interface DraftSource {
  readonly operations: RunHead["operations"];
  readonly origin: { readonly file: string } | { readonly where: string };
  readonly header: readonly string[];
  /** Readable once. */
  readonly rows: AsyncIterable<readonly StoredRow[]>;
  /** Facts that are known at the end of a file. Absent for other sources. */
  readonly late?: (Pick<LateRows, "weightOf"> & Partial<LateRows>) | undefined;
  /** Valid once `rows` has ended. */
  readonly sha256: () => string;
  /** The secret inputs of its rows are sealed already. */
  readonly isSealed?: true;
  /** Rows that no other run may take from the run that this one retries or undoes; known once `rows` has ended. */
  readonly takes?: (draft: { readonly calls: number; readonly rows: number }) => readonly RowGroup[];
}

/** The head of a run but for what its start adds. */
export type DraftHead = Omit<RunHead, "runId" | "createdAtMs" | "submittedBy" | "traceParent" | "maxFailures">;

export type Draft = Awaited<ReturnType<typeof writeDraft>>;

export interface DraftDeps {
  readonly ledger: Ledger;
  readonly inventory: Inventory;
  readonly sealInputs: SealInputs;
  readonly memory: () => Promise<RedisMemory>;
}

/** Name and options of a draft. */
export interface DraftRequest extends Pick<RunHead, "name" | "profile" | "operator" | "bucket" | "retryOf" | "undoOf"> {
  readonly options: RunOptions;
  /** Aborts when the caller no longer waits for it. */
  readonly signal?: AbortSignal | undefined;
}

/** Rows after which the room in Redis is checked again. */
const rowsPerCheck = 50_000;

/**
 * @throws errors of reading the rows, such as IntakeError; SimfleetError STORE_FULL if Redis has no room for them; the
 *   signal's reason. Nothing of the draft is kept then.
 */
export async function writeDraft(source: DraftSource, request: DraftRequest, deps: DraftDeps) {
  letNewSpaceGrow();
  const { ledger, sealInputs, memory } = deps;
  const { signal, ...head } = request;
  const { operations, header } = source;
  const tally = new PlanTally(operations);
  const writer = new SegmentWriter(ledger);
  const waveWriter = new SegmentWriter(ledger);
  let checkedRows = 0;
  try {
    assertRoom(0, await memory(), "rows");
    for await (const rows of source.rows) {
      signal?.throwIfAborted();
      const sealed = source.isSealed ? rows : await sealInputs.seal(rows, { operation: operations[0], header });
      for (const row of sealed) tally.add(row);
      await writer.add(sealed);
      if (writer.rows - checkedRows < rowsPerCheck) continue;
      checkedRows = writer.rows;
      assertRoom(writer.rows, await memory(), "outcomes");
    }
    await writer.end();
    if (source.late !== undefined) await writer.amend(source.late, tally);
    const read = (segment: number, firstRow: number) => ledger.draftedSegment(writer.draftId, segment, firstRow);
    const whole = { draftId: writer.draftId, segments: writer.segments, waves: [] };
    const order = { ...request, ...deps, operations, calls: tally.calls };
    const { draftId, ...parts } = (await inWaves({ ...whole, read }, waveWriter, order)) ?? whole;
    if (draftId !== writer.draftId) await ledger.discard(writer.draftId);
    assertRoom(writer.rows, await memory(), "outcomes");
    const drafted: DraftHead = {
      ...head,
      operations,
      header,
      sha256: source.sha256(),
      total: tally.rows,
      rejectedAtIntake: tally.rejected,
      skippedAtIntake: tally.skipped,
      changes: tally.changes.mostFrequent(),
      ...parts,
    };
    return {
      draftId,
      origin: source.origin,
      head: drafted,
      takes: source.takes?.(tally) ?? [],
      tally,
      lineOf: source.late?.lineOf,
    };
  } catch (thrown) {
    await Promise.allSettled([writer.settled(), waveWriter.settled()]);
    await ledger.discard(writer.draftId, waveWriter.draftId).catch(() => undefined);
    throw isRefusedForMemory(thrown) ? outOfRoom(writer.rows, await memory()) : thrown;
  }
}

/** Rows per segment: few enough to switch between runs often, enough to fit a million rows into two thousand jobs. */
const rowsPerSegment = { min: 20, max: 500 };
/** A segment has this part of the rows before it, within these bounds. */
const partOfRows = 1 / 10;

/** Splits a stream of rows into segments, and writes each while the rows of the next two are read. */
class SegmentWriter {
  readonly draftId: string = randomUUID();
  readonly segments: SegmentSpan[] = [];
  rows = 0;
  readonly #ledger: Ledger;
  #open: StoredRow[] = [];
  /** Writes in progress: of the segment before the last one, and of the last one. */
  #writing: readonly [Promise<void>, Promise<void>] = [Promise.resolve(), Promise.resolve()];

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  async add(rows: readonly StoredRow[]): Promise<void> {
    const { min, max } = rowsPerSegment;
    for (const row of rows) {
      this.#open.push(row);
      this.rows += 1;
      const size = Math.min(max, Math.max(min, (this.rows - this.#open.length) * partOfRows));
      if (this.#open.length >= size) await this.#write();
    }
  }

  /** Resolves when all rows are written; the next one begins a segment. */
  async end(): Promise<void> {
    await this.#write();
    await this.settled();
  }

  /** Resolves when no write is in progress. @throws what a write has thrown */
  async settled(): Promise<void> {
    // The other write may still be in progress when one fails.
    await Promise.allSettled(this.#writing);
    await Promise.all(this.#writing);
  }

  /** Resolves when the segment before the last one is written. */
  async #write(): Promise<void> {
    const rows = this.#open;
    const first = rows[0];
    if (first === undefined) return;
    this.#open = [];
    const segment = this.segments.push({ firstRow: first.index, callable: rows.filter(isCallable).length }) - 1;
    const [before, last] = this.#writing;
    await before;
    const next = this.#ledger.draftSegment(this.draftId, segment, rows);
    // A caller that stops before the next segment does not wait for this one.
    next.catch(() => undefined);
    this.#writing = [last, next];
  }

  /** Writes the segments again about whose rows the end of the file has shown something. */
  async amend(late: NonNullable<DraftSource["late"]>, tally: PlanTally): Promise<void> {
    for (const [segment, { firstRow }] of this.segments.entries()) {
      const end = this.segments[segment + 1]?.firstRow ?? this.rows;
      let index = firstRow;
      while (index < end && late.weightOf(index) === 1 && late.isConflict?.(index) !== true) index += 1;
      if (index === end) continue;
      const drafted = await this.#ledger.draftedSegment(this.draftId, segment, firstRow);
      const rows = drafted.map((row): StoredRow => {
        const { line, key, inputs, cells } = row;
        const problem = late.isConflict?.(row.index) === true ? late.conflictOf?.(row.index) : undefined;
        if (problem === undefined) {
          const weight = late.weightOf(row.index);
          if (row.skipped !== undefined) tally.skipped += weight - 1;
          return row.problem === undefined ? { ...row, weight } : row;
        }
        const amended = { index: row.index, line, key, inputs, cells, weight: 1, problem };
        tally.add(row, -1);
        tally.add(amended);
        return amended;
      });
      await this.#ledger.draftSegment(this.draftId, segment, rows);
      this.segments[segment] = { firstRow, callable: rows.filter(isCallable).length };
    }
  }
}

/**
 * Drafts the rows of a plan again, in waves without a gate: the plan has not counted who meets one.
 * @throws SimfleetError USAGE for a wave without a SIM; NOT_FOUND if the plan has expired
 */
export async function draftInWaves(plan: RunRecord, options: RunOptions, deps: DraftDeps) {
  const { ledger } = deps;
  const writer = new SegmentWriter(ledger);
  const calls = plan.segments.reduce((sum, { callable }) => sum + callable, 0);
  const read = async (segment: number) => (await ledger.segment(plan, segment)).rows;
  try {
    assertRoom(plan.total, await deps.memory(), "rows");
    return await inWaves({ segments: plan.segments, read }, writer, { ...plan, ...deps, options, calls });
  } catch (thrown) {
    await Promise.allSettled([writer.settled()]);
    await ledger.discard(writer.draftId).catch(() => undefined);
    throw isRefusedForMemory(thrown) ? outOfRoom(plan.total, await deps.memory()) : thrown;
  }
}

/**
 * Writes the rows of a draft or a plan again, so that each wave ends with a segment.
 * @param writer of the draft with waves, of which nothing is written yet
 * @returns undefined if there is no wave
 * @throws SimfleetError USAGE for a wave without a SIM or a field that no SIM has, if the SIMs do not meet the gate as
 *   they are, or if there is no undo of what should be undone; a retry is not rejected
 */
async function inWaves(
  whole: Pick<RunHead, "segments"> & { read(segment: number, firstRow: number): Promise<readonly StoredRow[]> },
  writer: SegmentWriter,
  order: DraftRequest & DraftDeps & Pick<RunHead, "operations"> & { readonly calls: number },
) {
  const { options, profile, retryOf, operations, inventory, calls: sims } = order;
  if (options.waves === undefined || sims === 0) return undefined;
  const { gate: text, minSample, sample, onFailure } = options.waves;
  const [{ name, keyColumn, undo }] = operations;
  if (onFailure === "undo" && undo === undefined) {
    throw new SimfleetError("USAGE", `${name} has no undo, so a gate that is not held can only pause its run`);
  }
  const gate = text === undefined ? undefined : parseGate(text);
  if (gate !== undefined) await assertFieldsKnown(inventory, { profile, filter: gate.filter, keyColumn });
  const ends = waveEnds(options.waves, sims, retryOf === undefined ? "refuse" : "leave-out");
  const waves: Wave[] = [];
  const isJudged = (wave: number, calls: number): boolean =>
    gate !== undefined && wave < ends.length - 1 && calls >= minSample;
  const all = { calls: 0, met: 0, judged: sims };
  for (const [segment, { firstRow }] of whole.segments.entries()) {
    for (const row of await whole.read(segment, firstRow)) {
      await writer.add([row]);
      if (!isCallable(row)) continue;
      all.calls += 1;
      all.met += Number(row.met === true);
      if (all.calls !== ends[waves.length]) continue;
      await writer.end();
      const calls = all.calls - (ends[waves.length - 1] ?? 0);
      const met = all.met - waves.reduce((sum, wave) => sum + wave.met, 0);
      const judged = isJudged(waves.length, calls) ? Math.min(sample, calls) : 0;
      waves.push({ end: writer.segments.length, calls, met, judged });
    }
  }
  await writer.end();
  const { minPercent = 0 } = retryOf === undefined ? (gate ?? {}) : {};
  const at = [...waves, all].findIndex(({ judged, met, calls }) => judged > 0 && met * 100 < calls * minPercent);
  if (at === -1) return { draftId: writer.draftId, segments: writer.segments, waves };
  const { met, calls } = waves[at] ?? all;
  const found = `${met} of ${calls} SIMs of ${at === waves.length ? "the run" : `wave ${at + 1}`} meet it (${percent(met, calls)})`;
  throw new SimfleetError(
    "USAGE",
    `The gate ${text} is not met before the run: ${found}, according to the inventory. Nothing was started. Sync with simfleet sims sync, choose SIMs that meet it, or change the gate`,
  );
}

// Whether Redis has room for a run. A run is rejected as a whole before any of its calls, never stored in part.

/** Bytes of a row: its input and its outcome, and its outcome alone (npm run bench:million -- --run). */
const bytesPerRow = { rows: 50, outcomes: 35 };
/** The records of the run, its jobs and its segments in progress. */
const bytesPerRun = 256 * 1_024;

/** @throws SimfleetError STORE_FULL if Redis has a limit and too little is left */
function assertRoom(rows: number, memory: RedisMemory, what: keyof typeof bytesPerRow): void {
  const { usedBytes, limitBytes, limitFrom } = memory;
  if (limitFrom === "machine") return; // other programs use it too, so that it says little
  if (limitBytes - usedBytes < bytesPerRun + rows * bytesPerRow[what]) throw outOfRoom(rows, memory);
}

function outOfRoom(rows: number, { usedBytes, limitBytes }: RedisMemory): SimfleetError {
  const left = Math.max(0, limitBytes - usedBytes);
  return new SimfleetError(
    "STORE_FULL",
    `Redis has ${megabytes(left)} of ${megabytes(limitBytes)} left, too little for a run of ${rows} rows: nothing was started. ` +
      "Raise its maxmemory, or delete old runs with simfleet runs delete; simfleet storage shows what uses the memory",
  );
}

const megabytes = (bytes: number): string => `${(bytes / 1_048_576).toFixed(1)} MB`;

/** Whether Redis rejected a write because it is full. */
function isRefusedForMemory(thrown: unknown): boolean {
  return thrown instanceof Error && thrown.name === "ReplyError" && /\bOOM\b/.test(thrown.message);
}

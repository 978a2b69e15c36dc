/**
 * Runs that overlap: rows of an older run without an outcome, although a newer run sets the same field of their SIM.
 * The run that started last wins, so it gives these rows their outcome before its first call: `skipped`, superseded.
 *
 * The start of a run notes which runs are older, but for those that its plan has found to share nothing with it
 * (start-run.lua). From then on no work on these runs starts, and work in progress stops after its calls in flight
 * (run-watch.ts). Once none is in flight, any process that needs to make a call of one of the runs settles the overlap.
 * To repeat that has no effect, so a crash does no harm.
 */
import { systemClock } from "#core/time.ts";
import { isRunOver } from "#fleet/run.ts";
import { type SimOperation, changesOf } from "#fleet/sim-operation/sim-operation.ts";
import type { Draft } from "./plan/draft.ts";
import type { Ledger, SegmentState } from "./ledger/ledger.ts";
import { type StoredRow, endWithoutCall, isCallable, operationOf } from "./ledger/packing.ts";
import type { RunHead, RunRecord } from "./ledger/run-record.ts";

/** A newer run's rows that are compared at once: about 25 MB. */
const rowsAtOnce = 250_000;

/** A field that a row sets. Of an object, each member is set; the row of a single tag sets no object. */
interface Target {
  readonly field: string;
  readonly isObject: boolean;
}

type Targets = ReadonlyMap<string, readonly Target[]>;

/** Rows of an older run's segment without an outcome that a newer run also sets, with their places. */
interface Overlap {
  readonly older: RunRecord;
  readonly segment: number;
  readonly state: SegmentState;
  readonly rows: readonly (readonly [place: number, row: StoredRow])[];
  /** Targets of the newer run that were compared. */
  readonly targets: Targets;
}

/** @param segments the newer run's rows */
async function* findOverlaps(
  segments: AsyncIterable<readonly StoredRow[]>,
  { operations, older }: { readonly operations: RunHead["operations"]; readonly older: readonly RunRecord[] },
  ledger: Ledger,
): AsyncGenerator<Overlap> {
  if (older.length === 0) return;
  let targets = new Map<string, readonly Target[]>();
  let last: readonly Target[] = [];
  for await (const rows of segments) {
    for (const row of rows) {
      // A row that changes nothing asks for its value all the same.
      if (!isCallable(row) && row.planned !== "unchanged") continue;
      const set = toTargets(operationOf({ operations }, row), row);
      const isSame = set.length === last.length && set.every(({ field }, i) => field === last[i]?.field);
      if (!isSame) last = set; // most rows set the same fields: one list serves them all
      const present = targets.get(row.key);
      if (set.length > 0) targets.set(row.key, present === undefined ? last : [...present, ...set]);
    }
    if (targets.size < rowsAtOnce) continue;
    for (const run of older) yield* overlapsWith(targets, run, ledger);
    targets = new Map();
  }
  if (targets.size > 0) for (const run of older) yield* overlapsWith(targets, run, ledger);
}

async function* overlapsWith(targets: Targets, older: RunRecord, ledger: Ledger): AsyncGenerator<Overlap> {
  const finished = await ledger.finishedSegments(older.runId);
  const [first = ""] = targets.keys();
  // So the start of a run of one row takes a quarter of the time next to a large one.
  const places = targets.size === 1 ? await ledger.rowsOf(older, first) : undefined;
  for (const [segment, { firstRow, callable }] of older.segments.entries()) {
    const end = older.segments[segment + 1]?.firstRow ?? Number.POSITIVE_INFINITY;
    if (callable === 0 || finished.has(segment) || places?.every((at) => at < firstRow || at >= end)) continue;
    const state = await ledger.segment(older, segment);
    const rows = [...state.rows.entries()].filter(([place, row]) => {
      const set = targets.get(row.key);
      if (set === undefined || !isCallable(row) || state.settled.has(place)) return false;
      return toTargets(operationOf(older, row), row).some((one) => set.some((other) => isShared(one, other)));
    });
    if (rows.length > 0) yield { older, segment, state, rows, targets };
  }
}

/** Only the result of a call that is unsafe to repeat is still to be found out. */
function isToSend(place: number, { tries }: SegmentState): boolean {
  return tries.get(place)?.sentAtMs === undefined;
}

function toTargets(operation: SimOperation, { key, inputs }: StoredRow): readonly Target[] {
  const changes = changesOf(operation, key, inputs);
  return changes.map(([field]) => ({ field, isObject: Object.hasOwn(operation.sets, field) }));
}

function isShared(one: Target, other: Target): boolean {
  const contains = (a: Target, b: Target): boolean => a.isObject && b.field.startsWith(`${a.field}.`);
  return one.field === other.field || contains(one, other) || contains(other, one);
}

/**
 * Compares a draft with the runs that have started and are not over.
 * @returns those whose rows it would supersede if it started now, and of how many SIMs; and those that it shares
 *   nothing with, which stays so, since rows do not change
 */
export async function compareDraft({ draftId, head }: Pick<Draft, "draftId" | "head">, ledger: Ledger) {
  const { operations, segments, profile } = head;
  async function* rows(): AsyncGenerator<readonly StoredRow[]> {
    for (const [segment, { firstRow }] of segments.entries()) {
      yield await ledger.draftedSegment(draftId, segment, firstRow);
    }
  }
  const older = await ledger.active(profile);
  const sims = new Map<string, number>();
  const counted = new Set<string>();
  let part: Overlap | undefined;
  for await (const overlap of findOverlaps(rows(), { operations, older }, ledger)) {
    const { runId } = overlap.older;
    if (runId !== part?.older.runId || overlap.targets !== part.targets) counted.clear();
    part = overlap;
    const before = counted.size;
    for (const [place, row] of overlap.rows) if (isToSend(place, overlap.state)) counted.add(row.key);
    sims.set(runId, (sims.get(runId) ?? 0) + counted.size - before);
  }
  return {
    supersedes: [...sims].map(([runId, count]) => ({ runId, sims: count })).filter((one) => one.sims > 0),
    disjoint: older.map(({ runId }) => runId).filter((runId) => !sims.has(runId)),
  };
}

/** Settles overlaps for the runs that one process works on. */
export function overlapSettler(ledger: Ledger) {
  const inProgress = new Map<string, Promise<boolean>>();
  /**
   * Settles all overlaps that keep a run from making calls.
   * @returns false while calls of an older run are in flight
   */
  return async (runId: string): Promise<boolean> => {
    let isSettled = true;
    for (const run of await ledger.blocking(runId)) {
      const { runId: id } = run;
      const settling = inProgress.get(id) ?? settleOlder(run, ledger).finally(() => inProgress.delete(id));
      inProgress.set(id, settling);
      isSettled = (await settling) && isSettled;
    }
    return isSettled;
  };
}

async function settleOlder(run: RunRecord, ledger: Ledger): Promise<boolean> {
  const all = await ledger.read(run.supersedes);
  if (all.some(({ isHeld }) => isHeld)) return false;
  const older = all.filter(({ state }) => !isRunOver(state));
  async function* rows(): AsyncGenerator<readonly StoredRow[]> {
    // Rows are kept for days: long before, the overlap was settled.
    if (run.rowsRemovedAtMs !== undefined) return;
    for (const segment of run.segments.keys()) yield (await ledger.segment(run, segment)).rows;
  }
  for await (const overlap of findOverlaps(rows(), { operations: run.operations, older }, ledger)) {
    await supersede(overlap, run.runId, ledger);
  }
  await ledger.endSuperseding(run);
  return true;
}

async function supersede(overlap: Overlap, newer: string, ledger: Ledger): Promise<void> {
  const { older, segment, state } = overlap;
  const rows = overlap.rows.filter(([place]) => isToSend(place, state));
  const end = { outcome: "skipped", reason: `superseded by run ${newer}`, finishedAtMs: systemClock.wallMs() } as const;
  const settlements = rows.map(([place, row]) =>
    endWithoutCall(older, { place, row, tries: state.tries.get(place) }, end),
  );
  if (rows.length > 0) await ledger.settle(older, segment, settlements, { calls: 0, throttled: 0, newer });
  const left = (older.segments[segment]?.callable ?? 0) - state.settled.size - rows.length;
  if (left === 0) await ledger.finishSegment(older, segment);
}

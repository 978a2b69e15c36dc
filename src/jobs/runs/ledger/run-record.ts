/** The head of a run in the ledger: its origin, options and progress. Stored as a flat hash, read as one value. */
import { SimfleetError } from "#core/errors.ts";
import { type Problem, problemIn } from "#engine/problem.ts";
import { type RunOptions, type RunState, type Tally, type Outcome, outcomes } from "#fleet/run.ts";
import type { Changed } from "../contract.ts";
import type { WaveCheck } from "../waves.ts";
import type { SimOperation } from "#fleet/sim-operation/sim-operation.ts";

/** A lease on a run expires after this time without renewal: its process died or lost Redis. */
export const leaseMs = 10_000;

/** A segment of consecutive rows: the index of its first row, and the number of its rows that make a call. */
export interface SegmentSpan {
  readonly firstRow: number;
  readonly callable: number;
}

/** A wave of a run. */
export interface Wave {
  /** The segment after its last one. */
  readonly end: number;
  readonly calls: number;
  /** How many of its SIMs met the gate when the run was planned. */
  readonly met: number;
  /** How many of its SIMs are judged when it has ended; 0: the next wave starts without that. */
  readonly judged: number;
}

/** Properties that are fixed when a run is submitted. */
export interface RunHead {
  readonly runId: string;
  readonly name: string;
  readonly profile: string;
  /** ID of the profile's operator, if it was known. */
  readonly operator?: string | undefined;
  /** `<profile>.<group>`: names the queue that carries the run's jobs, and to the limiter the quota that its calls use. */
  readonly bucket: string;
  readonly options: RunOptions;
  /** Operations of its rows, as described at submission; several for an undo whose rows need different calls. */
  readonly operations: readonly [SimOperation, ...SimOperation[]];
  /** Header cells of the input, unchanged. */
  readonly header: readonly string[];
  /** Name of the input file, without its folder. */
  readonly source: string;
  /** SHA-256 of the input, hex. */
  readonly sha256: string;
  /** Number of rows, and of those that the intake rejected. */
  readonly total: number;
  readonly rejectedAtIntake: number;
  /** Rows settled at submission without a call, because they would change nothing. */
  readonly skippedAtIntake: number;
  readonly segments: readonly SegmentSpan[];
  /** Most frequent changes. Absent: none. */
  readonly changes?: Changed["changes"];
  /** Waves, in their order. Default none. */
  readonly waves: readonly Wave[];
  /** The run is aborted after more failures than this. */
  readonly maxFailures?: number;
  /** The run whose unsuccessful rows this run retries. */
  readonly retryOf?: string;
  /** The run whose changes this run undoes. */
  readonly undoOf?: string;
  /** Older runs that share no field of a SIM with it, as its plan has found; kept until it starts. */
  readonly disjoint?: readonly string[];
  /** Who submitted it: `cli:anna`, `schedule:nightly`; absent if not known. */
  readonly submittedBy?: string;
  /** The span of its submission as a W3C `traceparent`, which the spans of its segments continue. */
  readonly traceParent?: string;
  readonly createdAtMs: number;
}

/** A run with its current state and progress. */
export interface RunRecord extends RunHead {
  readonly state: RunState;
  readonly tally: Tally;
  readonly calls: number;
  readonly throttled: number;
  /** Index of the wave whose rows are processed, or that was processed last. */
  readonly wave: number;
  /** The wave has ended; it is checked at this instant of Redis's clock. */
  readonly soakUntilMs: number | undefined;
  /** Results of the gate by the index of the wave; null: none. */
  readonly checks: readonly (WaveCheck | null)[];
  /** The run was aborted or cancelled while calls were in flight that have not all ended: rows may still get an outcome. */
  readonly isEnding: boolean;
  readonly startedAtMs: number | undefined;
  /** When a user last resumed it: it went to the end of its queue then. */
  readonly resumedAtMs: number | undefined;
  readonly finishedAtMs: number | undefined;
  /** When its rows were removed, to make room (retention.rowDays); the counts stay. */
  readonly rowsRemovedAtMs: number | undefined;
  /** The file that its results were written to before. */
  readonly archive: string | undefined;
  /** Why it was aborted, cancelled or paused, if a reason is known. */
  readonly reason: string | undefined;
  /** The run is over, and rows that were sent without a response have got their outcomes (sent-rows.ts). */
  readonly areSentSettled: boolean;
  /** The runs that took rows of this one, which no other run may take. */
  readonly taken: TakenRows;
  /** Work on it is in progress: calls of it may be in flight. */
  readonly isHeld: boolean;
  /** Runs that started before it, whose pending rows it has yet to supersede (overlap.ts). */
  readonly supersedes: readonly string[];
  /** The runs that superseded rows of this one, and how many. */
  readonly supersededBy: readonly { readonly runId: string; readonly rows: number }[];
  /** Why its calls currently get no usable response. */
  readonly problem: Problem | undefined;
  /** Plan as JSON (plan.ts), kept until the run is started. */
  readonly plan: string | undefined;
}

export function encodeHead(head: RunHead): Record<string, string | number> {
  const { waves, options } = head;
  return {
    name: head.name,
    profile: head.profile,
    bucket: head.bucket,
    options: JSON.stringify(head.options),
    operations: JSON.stringify(head.operations),
    header: JSON.stringify(head.header),
    source: head.source,
    sha256: head.sha256,
    total: head.total,
    rejectedAtIntake: head.rejectedAtIntake,
    skippedAtIntake: head.skippedAtIntake,
    segments: JSON.stringify(head.segments.map(({ firstRow, callable }) => [firstRow, callable])),
    changes: JSON.stringify(head.changes ?? []),
    waves: JSON.stringify(waves),
    wave: 0,
    waveEnd: waves[0]?.end ?? 0,
    waveLeft: waves[0]?.calls ?? 0,
    soakMs: options.waves?.soakMs ?? 0,
    ...(options.waves?.gate === undefined ? {} : { hasGate: 1 }),
    createdAtMs: head.createdAtMs,
    ...(head.operator === undefined ? {} : { operator: head.operator }),
    done: 0,
    skipped: head.skippedAtIntake,
    rejected: head.rejectedAtIntake,
    failed: 0,
    unknown: 0,
    failures: 0,
    calls: 0,
    throttled: 0,
    ...(head.maxFailures === undefined ? {} : { maxFailures: head.maxFailures }),
    ...(head.retryOf === undefined ? {} : { retryOf: head.retryOf }),
    ...(head.undoOf === undefined ? {} : { undoOf: head.undoOf }),
    ...(head.disjoint === undefined ? {} : { disjoint: head.disjoint.join(" ") }),
    ...(head.submittedBy === undefined ? {} : { submittedBy: head.submittedBy }),
    ...(head.traceParent === undefined ? {} : { traceParent: head.traceParent }),
  };
}

/** The fields of a new run that say whether it has started. A run without any call is completed as soon as it starts. */
export function startOf({ createdAtMs }: RunHead, state: RunState): Record<string, string | number> {
  if (state === "awaiting-approval") return { state };
  return { state, startedAtMs: createdAtMs, ...(state === "completed" ? { finishedAtMs: createdAtMs } : {}) };
}

/** Prefix of the fields that count the rows that another run superseded (settle.lua). */
const supersededPrefix = "superseded.";

/** @param hands number of leases on the run, as read-run.lua counts them */
export function decodeRecord(runId: string, hash: Readonly<Record<string, string>>, hands: number): RunRecord {
  const text = (field: string): string => hash[field] ?? "";
  const number = (field: string): number => Number(hash[field] ?? 0);
  const instant = (field: string): number | undefined => (hash[field] ? Number(hash[field]) : undefined);
  const state = text("state") as RunState;
  const isEnding = isCutShort(state) && hands > 0;
  const waves = JSON.parse(hash.waves ?? "[]") as Wave[];
  return {
    runId,
    name: text("name"),
    profile: text("profile"),
    operator: hash.operator,
    bucket: text("bucket"),
    options: JSON.parse(hash.options ?? "{}") as RunOptions,
    operations: JSON.parse(hash.operations ?? "[]") as RunHead["operations"],
    header: JSON.parse(hash.header ?? "[]") as string[],
    source: text("source"),
    sha256: text("sha256"),
    total: number("total"),
    rejectedAtIntake: number("rejectedAtIntake"),
    skippedAtIntake: number("skippedAtIntake"),
    segments: (JSON.parse(hash.segments ?? "[]") as [number, number][]).map(([firstRow, callable]) => ({
      firstRow,
      callable,
    })),
    changes: JSON.parse(hash.changes ?? "[]") as Changed["changes"],
    waves,
    ...(hash.maxFailures === undefined ? {} : { maxFailures: number("maxFailures") }),
    ...(hash.retryOf === undefined ? {} : { retryOf: hash.retryOf }),
    ...(hash.undoOf === undefined ? {} : { undoOf: hash.undoOf }),
    ...(hash.disjoint === undefined ? {} : { disjoint: hash.disjoint.split(" ") }),
    ...(hash.submittedBy === undefined ? {} : { submittedBy: hash.submittedBy }),
    ...(hash.traceParent === undefined ? {} : { traceParent: hash.traceParent }),
    createdAtMs: number("createdAtMs"),
    state,
    tally: decodeTally({ isCut: isCutShort(state) && !isEnding }, number),
    isEnding,
    calls: number("calls"),
    throttled: number("throttled"),
    wave: number("wave"),
    soakUntilMs: instant("soakUntilMs"),
    checks: waves.map((_, wave) => JSON.parse(hash[`check.${wave}`] ?? "null") as WaveCheck | null),
    startedAtMs: instant("startedAtMs"),
    resumedAtMs: instant("resumedAtMs"),
    finishedAtMs: isEnding ? undefined : instant("finishedAtMs"),
    rowsRemovedAtMs: instant("rowsRemovedAtMs"),
    archive: hash.archive,
    reason: hash.reason || undefined,
    areSentSettled: hash.areSentSettled !== undefined,
    taken: takenIn(hash),
    isHeld: hands > 0,
    supersedes: hash.supersedes?.split(" ") ?? [],
    supersededBy: Object.entries(hash).flatMap(([field, rows]) =>
      field.startsWith(supersededPrefix) ? [{ runId: field.slice(supersededPrefix.length), rows: Number(rows) }] : [],
    ),
    problem: problemIn(hash),
    plan: hash.plan,
  };
}

/** The fields of the hash that a run's state and tally are read from. */
export const statusFields = ["state", "total", "done", "skipped", "rejected", "failed", "unknown"] as const;

/**
 * Reads only state and tally, from the values of `statusFields`; undefined if the run does not exist. If a run was aborted
 * or cancelled, rows whose calls are still in flight count as cancelled here.
 */
export function decodeStatus(values: readonly (string | null)[]): Pick<RunRecord, "state" | "tally"> | undefined {
  if (typeof values[0] !== "string") return undefined;
  const state = values[0] as RunState;
  const number = (field: string): number => Number(values[statusFields.findIndex((name) => name === field)] ?? 0);
  return { state, tally: decodeTally({ isCut: isCutShort(state) }, number) };
}

function isCutShort(state: RunState): boolean {
  return state === "aborted" || state === "cancelled";
}

/** If a run was aborted or cancelled, rows without an outcome count as cancelled, so that the counts always add up. */
function decodeTally({ isCut }: { isCut: boolean }, number: (field: string) => number): Tally {
  const total = number("total");
  const settled = {
    done: number("done"),
    skipped: number("skipped"),
    rejected: number("rejected"),
    failed: number("failed"),
    unknown: number("unknown"),
  };
  const left = total - settled.done - settled.skipped - settled.rejected - settled.failed - settled.unknown;
  return { total, ...settled, cancelled: isCut ? left : 0, pending: isCut ? 0 : left };
}

/** @throws SimfleetError ROWS_REMOVED if the rows of the run were removed */
export function assertHasRows({ runId, rowsRemovedAtMs, archive }: RunRecord): void {
  if (rowsRemovedAtMs === undefined) return;
  const where = archive === undefined ? "" : `; its results are in ${archive}`;
  throw new SimfleetError(
    "ROWS_REMOVED",
    `The rows of run ${runId} were removed on ${isoDay(rowsRemovedAtMs)}${where}`,
  );
}

function isoDay(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
}

/** `only a running, paused or awaiting-approval run can be cancelled` */
export function moveRule(to: RunState, from: readonly RunState[]): string {
  // Made when it is needed: it takes as long as the rest of a command's start.
  const listed = new Intl.ListFormat("en-GB", { type: "disjunction" });
  const resumed = from.includes("awaiting-approval") ? "approved" : "resumed";
  return `only a ${listed.format(from)} run can be ${to === "running" ? resumed : to}`;
}

// Retries and undos of a run whose calls are unsafe to repeat. The first to be committed takes the rows: it is recorded
// in the head of their run (commit-run.lua), and every other is rejected.

/** Rows that only one run may take: those with an outcome, for a retry, or those to be undone. */
export type RowGroup = Outcome | "undo";

/** The runs that took rows of a run. */
export type TakenRows = Readonly<Partial<Record<RowGroup, string>>>;

/** The field of the head that holds the run that took the rows. */
export function takenField(group: RowGroup): string {
  return `taken.${group}`;
}

/** @param hash the head of a run */
function takenIn(hash: Readonly<Record<string, string>>): TakenRows {
  const taken: Partial<Record<RowGroup, string>> = {};
  for (const group of [...outcomes, "undo"] as const) {
    const by = hash[takenField(group)];
    if (by !== undefined) taken[group] = by;
  }
  return taken;
}

/** @param by the run that took the rows */
export function alreadyTaken(runId: string, group: RowGroup, by: string): SimfleetError {
  const what =
    group === "undo" ? `Run ${runId} was already undone` : `The ${group} rows of run ${runId} were already retried`;
  return new SimfleetError(
    "RUN_STATE_CONFLICT",
    `${what} by run ${by}; retry that run instead, because these calls are unsafe to repeat: simfleet runs retry ${by}`,
  );
}

/**
 * @param newRunId the run that is to take the rows, if its id is known: it may have taken them already
 * @throws SimfleetError RUN_STATE_CONFLICT if another run has taken some of the rows
 */
export function assertNotTaken(
  { runId, taken }: { readonly runId: string; readonly taken: TakenRows },
  groups: readonly RowGroup[],
  newRunId: string | undefined,
): void {
  for (const group of groups) {
    const by = taken[group];
    if (by !== undefined && by !== newRunId) throw alreadyTaken(runId, group, by);
  }
}

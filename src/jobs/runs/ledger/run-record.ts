/** The record of a run in the ledger: its fixed head and its progress. Stored as a hash, read as one value. */
import { SimfleetError } from "#core/errors.ts";
import type { Problem } from "#engine/problem.ts";
import type { RunOptions, RunState, Tally, Outcome } from "#fleet/run.ts";
import type { Changed, WaveCheck } from "../contract.ts";
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

/** The properties of a run that are fixed when it is submitted. */
export interface RunHead {
  readonly runId: string;
  readonly name: string;
  readonly profile: string;
  /** `<profile>.<group>`: names the queue of the run's jobs, and to the limiter the quota that its calls use. */
  readonly bucket: string;
  readonly options: RunOptions;
  /** Operations of its rows, as described at submission; several for an undo whose rows need different calls. */
  readonly operations: readonly [SimOperation, ...SimOperation[]];
  /** Header cells of the input, unchanged. */
  readonly header: readonly string[];
  /** SHA-256 of the input, hex. */
  readonly sha256: string;
  /** Number of rows, and of those that the intake rejected. */
  readonly total: number;
  readonly rejectedAtIntake: number;
  /** Rows settled at submission without a call, because they would change nothing. */
  readonly skippedAtIntake: number;
  readonly segments: readonly SegmentSpan[];
  /** Waves, in their order; most runs have none. */
  readonly waves: readonly Wave[];
  readonly createdAtMs: number;
  /** ID of the profile's operator. */
  readonly operator?: string | undefined;
  /** Most frequent changes. Absent: none. */
  readonly changes?: Changed["changes"] | undefined;
  /** The run is aborted after more failures than this. */
  readonly maxFailures?: number | undefined;
  /** The run whose unsuccessful rows this run retries. */
  readonly retryOf?: string | undefined;
  /** The run whose changes this run undoes. */
  readonly undoOf?: string | undefined;
  /** Older runs that share no field of a SIM with it, as its plan has found; kept apart until it starts. */
  readonly disjoint?: readonly string[] | undefined;
  /** Who submitted it: `cli:anna`, `schedule:nightly`. */
  readonly submittedBy?: string | undefined;
  /** The span of its submission as a W3C `traceparent`, which the spans of its segments continue. */
  readonly traceParent?: string | undefined;
}

/** The head as JSON, and apart what scripts read and change: they read no users' text as JSON, which may stop them. */
export function encodeHead({ disjoint, ...head }: RunHead): Record<string, string | number> {
  const { name, profile, total, maxFailures, waves, segments, options } = head;
  return {
    head: JSON.stringify(head),
    name,
    profile,
    total,
    ...(maxFailures === undefined ? {} : { maxFailures }),
    ...(disjoint === undefined ? {} : { disjoint: disjoint.join(" ") }),
    ...(waves.length === 0 ? {} : { waves: JSON.stringify(waves), segments: JSON.stringify(segments) }),
    wave: 0,
    waveEnd: waves[0]?.end ?? 0,
    waveLeft: waves[0]?.calls ?? 0,
    soakMs: options.waves?.soakMs ?? 0,
    ...(options.waves?.gate === undefined ? {} : { hasGate: 1 }),
    done: 0,
    skipped: head.skippedAtIntake,
    rejected: head.rejectedAtIntake,
    failed: 0,
    unknown: 0,
    failures: 0,
    calls: 0,
    throttled: 0,
  };
}

/** A run with its current state and progress. */
export type RunRecord = ReturnType<typeof decodeRecord>;

/** @param hands number of leases on the run, as read-run.lua counts them */
export function decodeRecord(hash: Readonly<Record<string, string>>, hands: number) {
  const head = JSON.parse(hash.head ?? "{}") as RunHead;
  const state = hash.state as RunState;
  const numberIn = (field: string): number | undefined => (hash[field] === undefined ? undefined : Number(hash[field]));
  const isEnding = isCutShort(state) && hands > 0;
  return {
    ...head,
    head,
    state,
    calls: Number(hash.calls),
    throttled: Number(hash.throttled),
    /** Index of the wave whose rows are processed, or that was processed last. */
    wave: Number(hash.wave),
    /** The wave has ended; it is checked at this instant of Redis's clock. */
    soakUntilMs: numberIn("soakUntilMs"),
    startedAtMs: numberIn("startedAtMs"),
    /** When a user last resumed it: it went to the end of its queue then. */
    resumedAtMs: numberIn("resumedAtMs"),
    finishedAtMs: isEnding ? undefined : numberIn("finishedAtMs"),
    /** When its rows were removed, to make room (retention.rowDays); the counts stay. */
    rowsRemovedAtMs: numberIn("rowsRemovedAtMs"),
    /** The file that its results were written to before. */
    archive: hash.archive,
    /** Why it was aborted, cancelled or paused. */
    reason: hash.reason,
    /** Plan as JSON (plans.ts), kept until the run is started. */
    plan: hash.plan,
    tally: decodeTally(hash, { isCut: isCutShort(state) && !isEnding }),
    /** The run was aborted or cancelled, and calls in flight then have not all ended: rows may still get an outcome. */
    isEnding,
    /** Work on it is in progress: calls of it may be in flight. */
    isHeld: hands > 0,
    /** Results of the gate by the index of the wave; null: none. */
    checks: head.waves.map((_, wave) => JSON.parse(hash[`check.${wave}`] ?? "null") as WaveCheck | null),
    /** The run is over, and rows that were sent without a response have got their outcomes (sent-rows.ts). */
    areSentSettled: hash.areSentSettled !== undefined,
    /** The runs that took rows of this one, which no other run may take. */
    taken: withPrefix(hash, takenPrefix),
    /** Runs that started before it, whose pending rows it has yet to supersede (overlap.ts). */
    supersedes: hash.supersedes?.split(" ") ?? [],
    /** The runs that superseded rows of this one, and how many. */
    supersededBy: Object.entries(withPrefix(hash, "superseded.")).map(([runId, rows]) => ({
      runId,
      rows: Number(rows),
    })),
    /** Why its calls currently get no usable response. */
    problem: hash.problem === undefined ? undefined : (JSON.parse(hash.problem) as Problem),
  };
}

/** The fields with a prefix, by the rest of their names. */
function withPrefix(hash: Readonly<Record<string, string>>, prefix: string): Readonly<Record<string, string>> {
  const found = Object.entries(hash).filter(([field]) => field.startsWith(prefix));
  return Object.fromEntries(found.map(([field, value]) => [field.slice(prefix.length), value]));
}

/** The fields of a new run that say whether it has started. A run without a call is completed as soon as it starts. */
export function startOf({ createdAtMs }: RunHead, state: RunState): Record<string, string | number> {
  if (state === "awaiting-approval" || state === "planned") return { state };
  return { state, startedAtMs: createdAtMs, ...(state === "completed" ? { finishedAtMs: createdAtMs } : {}) };
}

/** The fields of the hash that a run's state and tally are read from. */
export const statusFields = ["state", "total", "done", "skipped", "rejected", "failed", "unknown"] as const;

/**
 * Reads only state and tally, from the values of `statusFields`; undefined if the run does not exist. If a run was
 * aborted or cancelled, rows whose calls are still in flight count as cancelled here.
 */
export function decodeStatus(values: readonly (string | null)[]): Pick<RunRecord, "state" | "tally"> | undefined {
  if (typeof values[0] !== "string") return undefined;
  const state = values[0] as RunState;
  const hash = Object.fromEntries(statusFields.map((name, i) => [name, values[i] ?? "0"]));
  return { state, tally: decodeTally(hash, { isCut: isCutShort(state) }) };
}

function isCutShort(state: RunState): boolean {
  return state === "aborted" || state === "cancelled";
}

/** If a run was aborted or cancelled, rows without an outcome count as cancelled, so that the counts always add up. */
function decodeTally(hash: Readonly<Record<string, string>>, { isCut }: { isCut: boolean }): Tally {
  const [total = 0, done = 0, skipped = 0, rejected = 0, failed = 0, unknown = 0] = statusFields
    .slice(1)
    .map((name) => Number(hash[name] ?? 0));
  const left = total - done - skipped - rejected - failed - unknown;
  return { total, done, skipped, rejected, failed, unknown, cancelled: isCut ? left : 0, pending: isCut ? 0 : left };
}

/** @throws SimfleetError ROWS_REMOVED if the rows of the run were removed */
export function assertHasRows({ runId, rowsRemovedAtMs, archive }: RunRecord): void {
  if (rowsRemovedAtMs === undefined) return;
  const where = archive === undefined ? "" : `; its results are in ${archive}`;
  throw new SimfleetError(
    "ROWS_REMOVED",
    `The rows of run ${runId} were removed on ${new Date(rowsRemovedAtMs).toISOString().slice(0, 10)}${where}`,
  );
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

/** Prefix of the fields of the head that hold the run that took such rows. */
export const takenPrefix = "taken.";

/** @param by the run that took the rows */
export function alreadyTaken(runId: string, group: string, by: string): SimfleetError {
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
  { runId, taken }: Pick<RunRecord, "runId" | "taken">,
  groups: readonly RowGroup[],
  newRunId: string | undefined,
): void {
  for (const group of groups) {
    const by = taken[group];
    if (by !== undefined && by !== newRunId) throw alreadyTaken(runId, group, by);
  }
}

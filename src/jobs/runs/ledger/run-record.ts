/** The head of a run in the ledger: its origin, options and progress. Stored as a flat hash, read as one value. */
import { SimfleetError } from "#core/errors.ts";
import { problemIn } from "#engine/problem.ts";
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

/** Reads a field of the hash. */
type Reader<T> = (stored: string) => T;
type Readers = Readonly<Record<string, Reader<unknown>>>;
type Values<R extends Readers> = { readonly [F in keyof R]: ReturnType<R[F]> };
type OptionalValues<R extends Readers> = { readonly [F in keyof R]?: ReturnType<R[F]> | undefined };

const asText = (stored: string): string => stored;
const asNumber = (stored: string): number => Number(stored);
const asJson = <T>(): Reader<T> => JSON.parse as Reader<T>;

/** Properties that are fixed when a run is submitted. */
const fixed = {
  name: asText,
  profile: asText,
  /** `<profile>.<group>`: names the queue that carries the run's jobs, and to the limiter the quota that its calls use. */
  bucket: asText,
  options: asJson<RunOptions>(),
  /** Operations of its rows, as described at submission; several for an undo whose rows need different calls. */
  operations: asJson<readonly [SimOperation, ...SimOperation[]]>(),
  /** Header cells of the input, unchanged. */
  header: asJson<readonly string[]>(),
  /** Name of the input file, without its folder. */
  source: asText,
  /** SHA-256 of the input, hex. */
  sha256: asText,
  /** Number of rows, and of those that the intake rejected. */
  total: asNumber,
  rejectedAtIntake: asNumber,
  /** Rows settled at submission without a call, because they would change nothing. */
  skippedAtIntake: asNumber,
  segments: (stored: string): readonly SegmentSpan[] =>
    (JSON.parse(stored) as [number, number][]).map(([firstRow, callable]) => ({ firstRow, callable })),
  /** Waves, in their order; most runs have none. */
  waves: asJson<readonly Wave[]>(),
  createdAtMs: asNumber,
};

const fixedIfKnown = {
  /** ID of the profile's operator. */
  operator: asText,
  /** Most frequent changes. Absent: none. */
  changes: asJson<Changed["changes"]>(),
  /** The run is aborted after more failures than this. */
  maxFailures: asNumber,
  /** The run whose unsuccessful rows this run retries. */
  retryOf: asText,
  /** The run whose changes this run undoes. */
  undoOf: asText,
  /** Older runs that share no field of a SIM with it, as its plan has found; kept until it starts. */
  disjoint: (stored: string): readonly string[] => stored.split(" "),
  /** Who submitted it: `cli:anna`, `schedule:nightly`. */
  submittedBy: asText,
  /** The span of its submission as a W3C `traceparent`, which the spans of its segments continue. */
  traceParent: asText,
};

const progress = {
  state: asText as Reader<RunState>,
  calls: asNumber,
  throttled: asNumber,
  /** Index of the wave whose rows are processed, or that was processed last. */
  wave: asNumber,
};

const progressIfKnown = {
  /** The wave has ended; it is checked at this instant of Redis's clock. */
  soakUntilMs: asNumber,
  startedAtMs: asNumber,
  /** When a user last resumed it: it went to the end of its queue then. */
  resumedAtMs: asNumber,
  finishedAtMs: asNumber,
  /** When its rows were removed, to make room (retention.rowDays); the counts stay. */
  rowsRemovedAtMs: asNumber,
  /** The file that its results were written to before. */
  archive: asText,
  /** Why it was aborted, cancelled or paused. */
  reason: asText,
  /** Plan as JSON (plans.ts), kept until the run is started. */
  plan: asText,
};

export type RunHead = { readonly runId: string } & Values<typeof fixed> & OptionalValues<typeof fixedIfKnown>;

/** A run with its current state and progress. */
export type RunRecord = RunHead &
  Values<typeof progress> &
  OptionalValues<typeof progressIfKnown> &
  ReturnType<typeof derived>;

/** Properties that take several fields, or the leases. @param hands number of leases on the run, as read-run.lua counts them */
function derived(hash: Readonly<Record<string, string>>, state: RunState, hands: number) {
  const isEnding = isCutShort(state) && hands > 0;
  return {
    tally: decodeTally(hash, { isCut: isCutShort(state) && !isEnding }),
    /** The run was aborted or cancelled while calls were in flight that have not all ended: rows may still get an outcome. */
    isEnding,
    /** Work on it is in progress: calls of it may be in flight. */
    isHeld: hands > 0,
    /** Results of the gate by the index of the wave; null: none. */
    checks: (JSON.parse(hash.waves ?? "[]") as Wave[]).map(
      (_, wave) => JSON.parse(hash[`check.${wave}`] ?? "null") as WaveCheck | null,
    ),
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
    problem: problemIn(hash),
  };
}

/** The fields with a prefix, by the rest of their names. */
function withPrefix(hash: Readonly<Record<string, string>>, prefix: string): Readonly<Record<string, string>> {
  const found = Object.entries(hash).filter(([field]) => field.startsWith(prefix));
  return Object.fromEntries(found.map(([field, value]) => [field.slice(prefix.length), value]));
}

export function encodeHead(head: RunHead): Record<string, string | number> {
  const { waves, options, segments, disjoint } = head;
  const known = Object.keys({ ...fixed, ...fixedIfKnown }) as (keyof RunHead)[];
  const fields = {
    ...Object.fromEntries(known.map((name) => [name, head[name]])),
    segments: segments.map(({ firstRow, callable }) => [firstRow, callable]),
    disjoint: disjoint?.join(" "),
    wave: 0,
    waveEnd: waves[0]?.end ?? 0,
    waveLeft: waves[0]?.calls ?? 0,
    soakMs: options.waves?.soakMs ?? 0,
    hasGate: options.waves?.gate === undefined ? undefined : 1,
    done: 0,
    skipped: head.skippedAtIntake,
    rejected: head.rejectedAtIntake,
    failed: 0,
    unknown: 0,
    failures: 0,
    calls: 0,
    throttled: 0,
  };
  return Object.fromEntries(
    Object.entries(fields)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, typeof value === "object" ? JSON.stringify(value) : (value as string | number)]),
  );
}

/** The fields of a new run that say whether it has started. A run without any call is completed as soon as it starts. */
export function startOf({ createdAtMs }: RunHead, state: RunState): Record<string, string | number> {
  if (state === "awaiting-approval") return { state };
  return { state, startedAtMs: createdAtMs, ...(state === "completed" ? { finishedAtMs: createdAtMs } : {}) };
}

const readers: Readers = { ...fixed, ...fixedIfKnown, ...progress, ...progressIfKnown };

/** @param hands number of leases on the run, as read-run.lua counts them */
export function decodeRecord(runId: string, hash: Readonly<Record<string, string>>, hands: number): RunRecord {
  const stored = Object.fromEntries(
    Object.entries(readers).map(([name, read]) => [name, hash[name] === undefined ? undefined : read(hash[name])]),
  ) as Omit<RunHead, "runId"> & Values<typeof progress> & OptionalValues<typeof progressIfKnown>;
  const more = derived(hash, stored.state, hands);
  return { runId, ...stored, ...more, finishedAtMs: more.isEnding ? undefined : stored.finishedAtMs };
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

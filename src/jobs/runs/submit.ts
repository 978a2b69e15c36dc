/**
 * Turns a plan into a run: writes the rows to the ledger in segments, commits the run, then enqueues its jobs. A crash
 * before the commit leaves nothing; after a crash past it, any worker enqueues the run's jobs.
 */
import { traced, tracing } from "#core/traced.ts";
import { createHash, randomInt } from "node:crypto";
import { IntakeError, SimfleetError } from "#core/errors.ts";
import type { Clock } from "#core/time.ts";
import type { RunOptions } from "#fleet/run.ts";
import { withoutContent } from "#intake/columns.ts";
import type { PlanReport } from "./contract.ts";
import type { RunQueues } from "./work/queue.ts";
import type { Ledger } from "./ledger/ledger.ts";
import type { RowGroup } from "./ledger/follow-up.ts";
import { type StoredRow, isCallable } from "./ledger/packing.ts";
import type { RunHead, SegmentSpan } from "./ledger/run-record.ts";
import { type ClassifiedRow, type KnownFleet, classifyRows } from "./plan/classify.ts";
import { failureLimit } from "./plan/plan.ts";
import type { SealInputs } from "./sealed-inputs.ts";
import { type RunPolicy, assertConfirmed, assertWithinPolicy, needsApproval } from "./policy.ts";
import { isIrreversible } from "./plan/row-counts.ts";
import type { RowSource } from "./plan/row-source.ts";
import type { RedisMemory } from "#redis/memory.ts";

/** Rows per segment: few enough to switch between runs often, enough to fit a million rows into two thousand jobs. */
const rowsPerSegment = { min: 20, max: 500, segmentsWanted: 40 };

/** The content of a run, independent of the source of its rows. */
export interface Submission {
  readonly name: string;
  readonly profile: string;
  readonly bucket: string;
  readonly options: RunOptions;
  readonly operations: RunHead["operations"];
  readonly header: readonly string[];
  readonly source: string;
  readonly sha256: string;
  /** Number of rows, and of calls among them; known before the rows are read. */
  readonly total: number;
  readonly calls: number;
  readonly rows: AsyncIterable<readonly StoredRow[]>;
  /** It waits for approval, whatever the policy says. */
  readonly needsPerson?: boolean;
  /** The number of calls that cannot be undone, as a person confirmed it. */
  readonly confirm?: number | undefined;
  readonly retryOf?: string;
  readonly undoOf?: string;
  /** Rows that no other run may take from the run that this one retries or undoes. */
  readonly takes?: readonly RowGroup[];
}

/** Who submits a run, and its id if that was fixed in advance. */
export interface Signature {
  /** `cli:anna`, `schedule:nightly` */
  readonly by: string;
  /** Submitting again with the same id returns the existing run; without an id each submission creates a new run. */
  readonly runId?: string | undefined;
}

/** A submission and its submitter. */
export type SignedSubmission = Submission & Signature;

const unchangedReason = "the SIM is already as requested, according to the inventory";

/** The rows of a source, in the ledger's format. */
export async function* storedRows(
  source: RowSource,
  fleet: KnownFleet,
  options: RunOptions,
): AsyncGenerator<readonly StoredRow[]> {
  /** First occurrences that make no call; their duplicates make none either. */
  const unchanged = new Set<number>();
  for await (const batch of classifyRows(source, fleet)) {
    yield batch.map((classified): StoredRow => {
      const { row, verdict, duplicateOf } = classified;
      const first = duplicateOf ?? row.index;
      if (options.skipUnchanged && verdict === "unchanged") unchanged.add(first);
      const stored = storedRow(source, classified);
      return unchanged.has(first) ? { ...stored, skipped: unchangedReason } : stored;
    });
  }
}

function storedRow(source: RowSource, { row, duplicateOf, before }: ClassifiedRow): StoredRow {
  const { index, line, key, inputs, cells, problem } = row;
  const stored = { index, line, key, inputs, cells, weight: 1 };
  if (problem !== undefined) return { ...stored, problem: { code: problem.code, message: problem.message } };
  const known = before === undefined ? {} : { before };
  if (duplicateOf !== undefined) return { ...stored, ...known, duplicateOf };
  return { ...stored, ...known, weight: source.weightOf(index) };
}

interface SubmitDeps {
  readonly ledger: Ledger;
  readonly queues: RunQueues;
  readonly clock: Clock;
  readonly policy: RunPolicy;
  readonly sealInputs: SealInputs;
  readonly memory: () => Promise<RedisMemory>;
}

/**
 * @throws errors of reading the rows, such as IntakeError for a file that has changed; SimfleetError USAGE if the run
 *   has more changes than the policy allows, STORE_FULL if Redis has no room for it, RUN_STATE_CONFLICT if another run has taken its
 *   rows. Nothing of the run is kept then.
 */
export function submitRun(submission: SignedSubmission, deps: SubmitDeps): Promise<RunHead> {
  return traced(
    () => ({
      name: `send ${submission.bucket}`,
      kind: "producer",
      attributes: {
        "messaging.system": "bullmq",
        "messaging.operation.name": "send",
        "messaging.operation.type": "send",
        "messaging.destination.name": submission.bucket,
      },
    }),
    async (span) => {
      const head = await submit(submission, deps);
      span?.set({ "simfleet.run.id": head.runId, "messaging.batch.message_count": head.segments.length });
      return head;
    },
  );
}

async function submit(submission: SignedSubmission, deps: SubmitDeps): Promise<RunHead> {
  const { ledger, queues, clock, policy } = deps;
  // Refuse a large file before it is read a second time; the check of the written rows is the decisive one.
  assertWithinPolicy(policy, submission);
  const runId = submission.runId ?? newRunId(clock.wallMs());
  const draftId = `${runId}-${randomTail()}`;
  const writer = await writeRows(submission, draftId, deps);
  const { name, profile, bucket, options, operations, header, source, sha256, retryOf, undoOf } = submission;
  const maxFailures = failureLimit(options, writer.calls);
  const traceParent = tracing()?.parent();
  const head: RunHead = {
    runId,
    name,
    profile,
    bucket,
    options,
    operations,
    header,
    source,
    sha256,
    total: writer.rows,
    rejectedAtIntake: writer.rejected,
    skippedAtIntake: writer.skipped,
    segments: writer.segments,
    canarySegments: writer.canarySegments,
    createdAtMs: clock.wallMs(),
    submittedBy: submission.by,
    ...(traceParent === undefined ? {} : { traceParent }),
    ...(maxFailures === undefined ? {} : { maxFailures }),
    ...(retryOf === undefined ? {} : { retryOf }),
    ...(undoOf === undefined ? {} : { undoOf }),
  };
  const waits = submission.needsPerson === true || needsApproval(policy, { calls: writer.calls, operations });
  const state = writer.calls === 0 ? "completed" : waits ? "awaiting-approval" : "running";
  const committed = await ledger.commit(head, state, draftId, submission.takes);
  if (committed === "exists" && submission.runId === undefined) {
    throw new SimfleetError("RUN_STATE_CONFLICT", `The new ID ${runId} belongs to another run: submit the rows again`);
  }
  if (state === "running") await queues.enqueue(await ledger.run(runId));
  return head;
}

/** Writes the rows of a run that is not committed yet. @throws as `submitRun`; nothing is kept then */
async function writeRows(submission: Submission, draftId: string, deps: SubmitDeps): Promise<SegmentWriter> {
  const { ledger, policy, sealInputs, memory } = deps;
  // The rows of another run are sealed already.
  const isSealed = submission.retryOf !== undefined || submission.undoOf !== undefined;
  const run = { operation: submission.operations[0], header: submission.header };
  assertRoom(submission.total, await memory(), "rows");
  const writer = new SegmentWriter(ledger, draftId, submission);
  try {
    for await (const batch of submission.rows) {
      for (const row of isSealed ? batch : await sealInputs.seal(batch, run)) await writer.add(row);
    }
    await writer.end();
    assertRoom(writer.rows, await memory(), "outcomes");
    // The inventory, and with it the number of calls, may have changed since the plan.
    assertWithinPolicy(policy, writer);
    if (submission.needsPerson !== true) {
      assertConfirmed(submission.operations, { irreversible: writer.irreversible, confirm: submission.confirm });
    }
    return writer;
  } catch (thrown) {
    await ledger.discard(draftId).catch(() => undefined);
    throw isRefusedForMemory(thrown) ? outOfRoom(submission.total, await memory()) : thrown;
  }
}

/** Splits a stream of rows into segments; the canary's rows fill the first segments exactly. */
class SegmentWriter {
  readonly segments: SegmentSpan[] = [];
  /** Rows written that make a call. */
  calls = 0;
  /** Calls among them that cannot be undone. */
  irreversible = 0;
  canarySegments = 0;
  rows = 0;
  rejected = 0;
  skipped = 0;
  readonly #ledger: Ledger;
  readonly #draftId: string;
  readonly #operations: RunHead["operations"];
  readonly #size: number;
  #canaryLeft: number;
  #open: StoredRow[] = [];

  constructor(ledger: Ledger, draftId: string, submission: Submission) {
    this.#ledger = ledger;
    this.#draftId = draftId;
    this.#operations = submission.operations;
    const { min, max, segmentsWanted } = rowsPerSegment;
    this.#size = Math.min(max, Math.max(min, Math.ceil(submission.total / segmentsWanted)));
    this.#canaryLeft = submission.options.canary ?? 0;
  }

  async add(row: StoredRow): Promise<void> {
    this.#open.push(row);
    this.rows += 1;
    if (row.problem !== undefined) this.rejected += 1;
    if (row.skipped !== undefined) this.skipped += 1;
    if (isIrreversible(this.#operations, row)) this.irreversible += 1;
    const closesCanary = this.#canaryLeft > 0 && isCallable(row) && --this.#canaryLeft === 0;
    if (closesCanary || this.#open.length >= this.#size) {
      await this.end();
      if (closesCanary) this.canarySegments = this.segments.length;
    }
  }

  async end(): Promise<void> {
    const rows = this.#open;
    const first = rows[0];
    if (first === undefined) return;
    this.#open = [];
    await this.#ledger.draftSegment(this.#draftId, this.segments.length, rows);
    const callable = rows.filter(isCallable).length;
    this.calls += callable;
    this.segments.push({ firstRow: first.index, callable });
    if (this.#canaryLeft > 0) this.canarySegments = this.segments.length;
  }
}

/**
 * Refuses a plan with invalid rows unless `partial` is set.
 * @throws IntakeError
 */
export function assertAllValid(
  { rows, problemsInAll: invalid, problems }: Pick<PlanReport, "rows" | "problemsInAll" | "problems">,
  { partial }: { readonly partial: boolean },
): void {
  if (invalid === 0 || (partial && invalid < rows)) return;
  const first = problems[0];
  const say = (problem: string): string => {
    const example = first === undefined ? "" : ` (the first: line ${first.line}: ${problem})`;
    if (invalid === rows) return `No row of the file can be sent${example}. Nothing was started.`;
    return `${invalid} of ${rows} rows cannot be sent${example}. Nothing was started. Fix them, or process only the valid rows: --partial on the command line, partial=true in the API.`;
  };
  throw new IntakeError(say(first?.message ?? ""), {
    withoutContent: say(first === undefined ? "" : withoutContent(first)),
  });
}

const idAlphabet = "abcdefghjkmnpqrstuvwxyz23456789";

/** `r-20261120-103045-x7k2m9ab`: sorts by time, is easy to read out, and is never all digits. */
export function newRunId(wallMs: number): string {
  return `r-${stampOf(wallMs)}-${randomTail()}`;
}

/** Random characters after the time: two runs of the same second collide once in 850 billion. */
const tailLength = 8;

function randomTail(): string {
  return Array.from({ length: tailLength }, () => idAlphabet[randomInt(idAlphabet.length)]).join("");
}

/** Derives a run id from a key; the same key always gives the same id: `r-20261120-103045-x7k2m9ab`. */
export function runIdFor(key: string, wallMs: number): string {
  const digest = createHash("sha256").update(key).digest();
  const tail = Array.from({ length: tailLength }, (_, i) => idAlphabet[(digest[i] ?? 0) % idAlphabet.length]).join("");
  return `r-${stampOf(wallMs)}-${tail}`;
}

function stampOf(wallMs: number): string {
  return new Date(wallMs).toISOString().replace(/[-:]/g, "").replace("T", "-").slice(0, 15);
}

// Whether Redis has room for a run. A run is refused as a whole before any of its calls, never stored in part.

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

/** Whether Redis refused a write because it is full. */
function isRefusedForMemory(thrown: unknown): boolean {
  return thrown instanceof Error && thrown.name === "ReplyError" && /\bOOM\b/.test(thrown.message);
}

function megabytes(bytes: number): string {
  return `${(bytes / 1_048_576).toFixed(1)} MB`;
}

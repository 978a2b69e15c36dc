/**
 * Operations on runs, shared by the CLI and the HTTP API. It takes and returns plain values and depends on neither
 * terminal nor HTTP.
 */
import { basename } from "node:path";
import { type Outcome, type RunOptions, type RunState, outcomes, runStates, isRunOver } from "#fleet/run.ts";
import {
  type SimOperation,
  type SimOperations,
  operationFor,
  operationNamed,
  setSpeedClassName,
} from "#fleet/sim-operation/sim-operation.ts";
import type { Wording } from "#fleet/sim/sim.ts";
import type { BucketState, Limiter } from "#limiter/limiter.ts";
import type { RedisMemory } from "#redis/memory.ts";
import type { WorkerRegistry } from "#engine/queue/worker-registry.ts";
import { type RunQueues, queueName } from "./work/queue.ts";
import type { Inventory } from "#jobs/inventory/store/inventory.ts";
import type { RunRemoval } from "./removal/removal.ts";
import { type Plan, type PlanRequest, makePlan, quotaView } from "./plan/plan.ts";
import { reportOfPlan } from "./plan/plan-report.ts";
import { planRows } from "./plan/plan-rows.ts";
import type { RowCounts } from "./plan/row-counts.ts";
import { type RunPolicy, assertConfirmed, maxDangerous } from "./policy.ts";
import { unknownQuota } from "./plan/quota-estimate.ts";
import type { FollowUpPlan, RowReport, PlanRow, RunReport, SimRun } from "./contract.ts";
import { runsOfSim } from "./results/runs-of-sim.ts";
import { reportOf } from "./report.ts";
import { type ResultsFormat, resultLines } from "./results/results.ts";
import { type RowQuery, rowPage } from "./results/row-page.ts";
import { RunSummaries } from "./results/run-summary.ts";
import { readSettled } from "./results/sent-rows.ts";
import { type RetriedRows, retrySubmission } from "./retry.ts";
import { undoSubmission } from "./undo.ts";
import { operationBucket } from "./work/row-call.ts";
import type { SealInputs } from "./sealed-inputs.ts";
import { type Signature, type Submission, assertAllValid, storedRows, submitRun } from "./submit.ts";
import type { Clock } from "#core/time.ts";
import { readWhenEnded } from "./ended-run.ts";
import { csvLine } from "#intake/cell.ts";
import { secretColumns } from "#intake/columns.ts";
import { type ClassifiedRow, type KnownFleet, classifyRows } from "./plan/classify.ts";
import type { RowSource } from "./plan/row-source.ts";
import { SimfleetError } from "#core/errors.ts";
import type { Ledger } from "./ledger/ledger.ts";
import type { RunRecord } from "./ledger/run-record.ts";

/** How rows are planned and run. */
export interface Order {
  readonly profile: string;
  /** What to do to each SIM; default `set-speed-class`. */
  readonly operation?: string | undefined;
  /** Values for all rows by input; the others come from the rows. */
  readonly set: Readonly<Record<string, string>>;
  /** The file may be the results of a run. */
  readonly fromResults?: boolean | undefined;
  /** Name of the run; the file name or the filter by default. */
  readonly name?: string | undefined;
  /** The number of calls that cannot be undone, as a person confirmed it. */
  readonly confirm?: number | undefined;
  readonly options: RunOptions;
}

/** Who submits a retry or an undo, and the number of calls that cannot be undone, as confirmed. */
type Confirmed = Signature & { readonly confirm?: number | undefined };

export class RunService {
  readonly control: RunControl;
  readonly summaries: RunSummaries;
  readonly #ledger: Ledger;
  readonly #removal: RunRemoval;
  readonly #inventory: Inventory;
  readonly #limiter: Limiter;
  readonly #workerRegistry: WorkerRegistry;
  readonly #periodMs: number;
  readonly #wordingOf: (profile: string) => Wording;
  readonly #speedClasses: readonly string[];
  readonly #operations: SimOperations;
  readonly #submitDeps: {
    ledger: Ledger;
    inventory: Inventory;
    queues: RunQueues;
    clock: Clock;
    policy: RunPolicy;
    sealInputs: SealInputs;
    memory: () => Promise<RedisMemory>;
  };

  constructor(deps: {
    ledger: Ledger;
    runRemoval: RunRemoval;
    inventory: Inventory;
    queues: RunQueues;
    limiter: Limiter;
    workerRegistry: WorkerRegistry;
    clock: Clock;
    periodMs: number;
    wordingOf: (profile: string) => Wording;
    /** Those that the deployment lists; a plan warns of others. Empty: no list is configured. */
    speedClasses: readonly string[];
    policy: RunPolicy;
    operations: SimOperations;
    sealInputs: SealInputs;
    memory: () => Promise<RedisMemory>;
  }) {
    this.#ledger = deps.ledger;
    this.#removal = deps.runRemoval;
    this.#inventory = deps.inventory;
    this.#limiter = deps.limiter;
    this.#workerRegistry = deps.workerRegistry;
    this.#periodMs = deps.periodMs;
    this.#wordingOf = deps.wordingOf;
    this.#speedClasses = deps.speedClasses;
    this.#operations = deps.operations;
    const { ledger, inventory, queues, clock, policy, sealInputs, memory } = deps;
    this.#submitDeps = { ledger, inventory, queues, clock, policy, sealInputs, memory };
    this.control = new RunControl(deps);
    this.summaries = new RunSummaries(deps);
  }

  /** The operations of the deployment, by name. */
  get operations(): SimOperations {
    return this.#operations;
  }

  /**
   * An operation as a profile uses it.
   * @throws SimfleetError OPERATION_NOT_FOUND
   */
  operation(name: string, profile: string): SimOperation {
    return operationFor(operationNamed(this.#operations, name), this.#wordingOf(profile));
  }

  /**
   * Checks what can be known before the rows are received.
   * @throws SimfleetError OPERATION_NOT_FOUND, USAGE if its secret inputs could not be stored
   */
  assertOperation(name: string | undefined, profile: string): SimOperation {
    const operation = this.operation(name ?? setSpeedClassName, profile);
    this.#submitDeps.sealInputs.assertKey(operation);
    return operation;
  }

  /**
   * Plans rows; makes no call.
   * @param signal aborts when nobody waits for the plan any more
   * @throws IntakeError for a file that cannot be read as input, or an invalid value for all rows; the signal's reason
   * @throws SimfleetError OPERATION_NOT_FOUND, USAGE for a filter without a required value or secret inputs without a key
   */
  plan(from: PlanRequest["from"], order: Order, signal?: AbortSignal): Promise<Plan> {
    const { profile, options } = order;
    const operation = this.assertOperation(order.operation, profile);
    refuseSecretValues(operation, order.set);
    const request = {
      from,
      operation,
      set: order.set,
      fromResults: order.fromResults,
      bucket: operationBucket(operation, profile),
      knownSpeedClasses: this.#speedClasses,
      skipUnchanged: options.skipUnchanged,
      callsPerMinute: options.callsPerMinute,
      fleet: { inventory: this.#inventory, profile, operations: this.#operations },
      periodMs: this.#periodMs,
      signal,
    };
    return makePlan(request, this.#limiter);
  }

  /**
   * Submits planned rows as a run.
   * @param order the order that was planned; `source` is the name of the file, or the filter
   * @throws IntakeError if it has invalid rows and `partial` is not set, or has changed since it was planned
   * @throws SimfleetError NOT_CONFIRMED
   */
  async submit(
    plan: Plan,
    order: Order & Signature & { readonly source?: string; readonly isUnattended?: true },
  ): Promise<RunReport> {
    const { source } = plan;
    const { operation } = source.request;
    const { profile, options, by, runId, confirm, source: sourceName = sourceNameOf(source) } = order;
    assertAllValid(reportOfPlan(plan), options);
    // Nobody can confirm a number beforehand: a run that nobody attends waits for a person.
    const needsPerson = order.isUnattended === true && operation.danger === "irreversible";
    if (!needsPerson) assertConfirmed([operation], { irreversible: reportOfPlan(plan).irreversible, confirm });
    const head = await submitRun(
      {
        name: order.name ?? sourceName,
        profile,
        options,
        by,
        runId,
        bucket: operationBucket(operation, profile),
        operations: [operation],
        source: sourceName,
        header: source.header,
        sha256: source.sha256,
        total: source.counts.rows,
        calls: plan.calls,
        needsPerson,
        confirm,
        rows: storedRows(source, { inventory: this.#inventory, profile, operations: this.#operations }, options),
      },
      this.#submitDeps,
    );
    return this.show(head.runId);
  }

  /**
   * Retries the unsuccessful rows of a run that has ended, in a new run that refers to it.
   * @throws SimfleetError RUN_STATE_CONFLICT, NOT_CONFIRMED
   */
  async retry(runId: string, { which, ...signature }: Confirmed & { which?: RetriedRows }): Promise<RunReport> {
    return this.#submitFollowUp(await this.#retrySubmission(runId, which, signature.runId), signature);
  }

  /**
   * Counts the rows of a retry of the run.
   * @throws SimfleetError RUN_STATE_CONFLICT if there is nothing to retry, or another run has taken the rows
   */
  async planRetry(runId: string, which?: RetriedRows): Promise<FollowUpPlan> {
    return followUpPlan(await this.#retrySubmission(runId, which));
  }

  /**
   * Counts the rows of an undo of the run.
   * @throws SimfleetError RUN_STATE_CONFLICT if the run has not ended, or has changed nothing
   */
  async planUndo(runId: string): Promise<FollowUpPlan> {
    return followUpPlan(await this.#undoSubmission(runId));
  }

  /**
   * Restores what a run that has ended changed, in a new run that refers to it; later changes are kept. It relies on the
   * inventory, so callers should sync just before.
   * @throws SimfleetError RUN_STATE_CONFLICT, NOT_CONFIRMED
   */
  async undo(runId: string, signature: Confirmed): Promise<RunReport> {
    return this.#submitFollowUp(await this.#undoSubmission(runId, signature.runId), signature);
  }

  async #submitFollowUp(submission: Submission & RowCounts, signature: Confirmed): Promise<RunReport> {
    const { irreversible, operations } = submission;
    assertConfirmed(operations, { irreversible, confirm: signature.confirm });
    return this.show((await submitRun({ ...submission, ...signature }, this.#submitDeps)).runId);
  }

  async #retrySubmission(runId: string, which: RetriedRows = {}, newRunId?: string): Promise<Submission & RowCounts> {
    const run = await readWhenEnded(runId, this.#submitDeps);
    return retrySubmission(run, this.#submitDeps, { ...which, newRunId });
  }

  async #undoSubmission(runId: string, newRunId?: string): Promise<Submission & RowCounts> {
    const run = await readWhenEnded(runId, this.#submitDeps);
    const deps = { ...this.#submitDeps, operationNamed: (name: string) => this.operation(name, run.profile) };
    return undoSubmission(run, deps, newRunId);
  }

  /** Renders the verdict of every row of a plan, as lines of a CSV file. */
  verdicts(plan: Plan, profile: string): AsyncGenerator<string> {
    return planLines(plan.source, { inventory: this.#inventory, profile, operations: this.#operations });
  }

  exists(runId: string): Promise<boolean> {
    return this.#ledger.exists(runId);
  }

  /** Yields every row of a plan with its verdict. */
  planRows(plan: Plan, profile: string): AsyncGenerator<PlanRow> {
    return planRows(plan.source, { inventory: this.#inventory, profile, operations: this.#operations });
  }

  record(runId: string): Promise<RunRecord> {
    return this.#ledger.run(runId);
  }

  /** @throws SimfleetError RUN_NOT_FOUND */
  async show(runId: string): Promise<RunReport> {
    const run = await readSettled(runId, this.#submitDeps);
    return (await this.#reports([run]))[0] ?? reportOf(run, unknownQuota);
  }

  /** While Redis refuses writes, it keeps no problem of a run and tells no quota. */
  async #reports(runs: readonly RunRecord[]): Promise<RunReport[]> {
    const message = runs.some(({ state }) => state === "running") ? await this.#ledger.refusal() : undefined;
    if (message !== undefined) {
      const since = new Date(this.#submitDeps.clock.wallMs()).toISOString();
      const problem = { message, since, attempts: 1, nextAttemptAt: null };
      return runs.map((run) => ({ ...reportOf(run, unknownQuota), ...(run.state === "running" ? { problem } : {}) }));
    }
    const buckets = [...new Set(runs.map(({ bucket }) => bucket))];
    const views = buckets.map((bucket) => quotaView(this.#limiter, bucket, this.#periodMs));
    const quotas = new Map((await Promise.all(views)).map((view, i) => [buckets[i], view]));
    return runs.map((run) => reportOf(run, quotas.get(run.bucket) ?? unknownQuota));
  }

  /**
   * Lists runs, newest first, filtered by `state` and `profile`.
   * @throws SimfleetError RUN_NOT_FOUND for an invalid cursor
   */
  async list(query: {
    limit: number;
    cursor?: string | undefined;
    state?: RunState | undefined;
    profile?: string | undefined;
  }): Promise<{ runs: RunReport[]; nextCursor: string | null }> {
    const { runs, nextCursor } = await runPage(this.#ledger, query);
    return { runs: await this.#reports(runs), nextCursor };
  }

  /** Lists the rows of a run with their outcomes. @throws SimfleetError RUN_NOT_FOUND */
  async rows(runId: string, query: RowQuery): Promise<{ rows: RowReport[]; nextCursor: string | null }> {
    return rowPage(await readSettled(runId, this.#submitDeps), this.#ledger, query);
  }

  /** Lists the rows of runs for a SIM, newest run first. @throws SimfleetError RUN_NOT_FOUND for an invalid cursor */
  ofSim(
    key: string,
    query: { profile: string; limit: number; cursor?: string | undefined },
  ): Promise<{ runs: SimRun[]; nextCursor: string | null }> {
    return withValidCursor(query.cursor, () => runsOfSim(key, this.#ledger, query));
  }

  /** Counts the last thousand runs and their rows. */
  census(): Promise<RunCensus> {
    return censusOf(this.#ledger);
  }

  /** Yields the results line by line, filtered by `outcomes`. */
  async *results(
    runId: string,
    options: { format: ResultsFormat; outcomes?: readonly Outcome[] | undefined },
  ): AsyncGenerator<string> {
    yield* resultLines(await readSettled(runId, this.#submitDeps), this.#ledger, options);
  }

  /** What the archive keeps of a run that is over. */
  async archiveOf(run: RunRecord): Promise<{ readonly report: RunReport; readonly lines: AsyncIterable<string> }> {
    const report = reportOf(run, await quotaView(this.#limiter, run.bucket, this.#periodMs));
    return { report, lines: resultLines(run, this.#ledger, { format: "csv" }) };
  }

  /**
   * Removes a run that is over with its rows.
   * @throws SimfleetError RUN_NOT_FOUND, or RUN_STATE_CONFLICT if it is not over
   */
  async delete(runId: string): Promise<void> {
    await this.#removal.remove(await readWhenEnded(runId, this.#submitDeps));
  }

  /** The buckets, and thus the queues, of a profile's changes: one for each API group of its operations. */
  bucketsOf(profile: string): readonly string[] {
    return [...new Set([...this.#operations.values()].map((operation) => operationBucket(operation, profile)))];
  }

  /** How many live processes work on the runs of a profile. */
  async workersOf(profile: string): Promise<number> {
    const workers = this.bucketsOf(profile).map((bucket) => this.#workerRegistry.workers(queueName(bucket)));
    return Math.max(0, ...(await Promise.all(workers)).map(({ length }) => length));
  }

  /** Whether a live process handles the bucket. */
  async isServed(bucket: string): Promise<boolean> {
    return (await this.#workerRegistry.workers(queueName(bucket))).length > 0;
  }

  bucket(bucket: string): Promise<BucketState> {
    return this.#limiter.state(bucket);
  }

  buckets(): Promise<BucketState[]> {
    return this.#limiter.buckets();
  }
}

function followUpPlan({ operations, total, calls, costly, irreversible }: Submission & RowCounts): FollowUpPlan {
  return { operation: maxDangerous(operations).name, total, calls, costly, irreversible };
}

/** A value for all rows is part of an address or a command line, which others may read. @throws SimfleetError USAGE */
function refuseSecretValues({ inputs }: SimOperation, set: Readonly<Record<string, string>>): void {
  const secret = inputs.find(({ name, isSecret }) => isSecret && set[name] !== undefined);
  if (secret === undefined) return;
  throw new SimfleetError(
    "USAGE",
    `${secret.name} is secret: give it as a column of the file, not as one value for all rows`,
  );
}

function sourceNameOf({ origin }: Plan["source"]): string {
  return "file" in origin ? basename(origin.file) : origin.where;
}

// Counts the last thousand runs by state, and their rows by outcome.

interface RunCensus {
  readonly runs: Readonly<Record<RunState, number>>;
  readonly rows: Readonly<Record<Outcome, number>>;
}

async function censusOf(ledger: Ledger): Promise<RunCensus> {
  const runs = Object.fromEntries(runStates.map((state) => [state, 0])) as Record<RunState, number>;
  const rows = Object.fromEntries(outcomes.map((outcome) => [outcome, 0])) as Record<Outcome, number>;
  for (const { state, tally } of await ledger.statuses()) {
    runs[state] += 1;
    for (const outcome of outcomes) rows[outcome] += tally[outcome];
  }
  return { runs, rows };
}

// Pauses, resumes, approves and cancels runs. The transitions of a run are
//   running -> paused (pause)            paused -> running (resume)
//   awaiting-approval -> running (approve, by another user)
//   running | paused | awaiting-approval -> cancelled (cancel)
// and those caused by its own rows (settle.lua): completed, aborted. Workers notice a transition with the next outcome.

class RunControl {
  readonly #ledger: Ledger;
  readonly #queues: RunQueues;
  readonly #clock: Clock;

  constructor(deps: { ledger: Ledger; queues: RunQueues; clock: Clock }) {
    this.#ledger = deps.ledger;
    this.#clock = deps.clock;
    this.#queues = deps.queues;
  }

  /** Stops making calls; calls in flight end and are settled. */
  async pause(runId: string, options: { readonly reason?: string; readonly by?: string } = {}): Promise<void> {
    await this.#ledger.move(runId, "paused", ["running", "paused"], options);
  }

  /** Resumes the run where it was paused. Also skips pending retry delays. */
  async resume(runId: string, options: { readonly by?: string } = {}): Promise<void> {
    const run = await this.#ledger.run(runId);
    if (isRunOver(run.state)) {
      throw new SimfleetError(
        "RUN_STATE_CONFLICT",
        `Run ${runId} is ${run.state} and cannot be resumed: retry its unsuccessful rows with simfleet runs retry ${runId}`,
      );
    }
    await this.#ledger.move(runId, "running", ["paused", "running"], options);
    await this.#queues.enqueue(await this.#ledger.run(runId), "now");
  }

  /**
   * Starts a run that awaits approval.
   * @param by who approves; must differ from who submitted the run
   * @throws SimfleetError RUN_STATE_CONFLICT
   */
  async approve(runId: string, by: string): Promise<void> {
    const { submittedBy, state } = await this.#ledger.run(runId);
    if (state === "awaiting-approval" && submittedBy === by) {
      throw new SimfleetError(
        "RUN_STATE_CONFLICT",
        `Run ${runId} was submitted by ${by}: someone else has to approve it (simfleet runs approve ${runId})`,
      );
    }
    await this.#ledger.move(runId, "running", ["awaiting-approval"], { by });
    await this.#queues.enqueue(await this.#ledger.run(runId));
  }

  /** Ends the run: rows not yet sent are left unchanged. Waits some seconds for calls in flight. */
  async cancel(runId: string, options: { readonly reason?: string; readonly by?: string } = {}): Promise<void> {
    const { reason = "cancelled by a user" } = options;
    await this.#ledger.move(runId, "cancelled", ["running", "paused", "awaiting-approval"], { ...options, reason });
    await readWhenEnded(runId, { ledger: this.#ledger, clock: this.#clock });
  }
}

// Renders a plan as CSV: the input's columns, followed by the verdict of each row.

async function* planLines(source: RowSource, fleet: KnownFleet): AsyncGenerator<string> {
  const fields = Object.keys(source.request.operation.sets);
  const secret = secretColumns(source.header, source.request.operation);
  yield csvLine([
    ...source.header,
    "verdict",
    "reason",
    ...fields.flatMap((field) => [`${field}Before`, `${field}After`]),
  ]);
  for await (const batch of classifyRows(source, fleet)) {
    for (const classified of batch) {
      const { row, verdict, changes, before } = classified;
      const cells = source.header.map((_, i) => (secret.has(i) ? "" : (row.cells[i] ?? "")));
      const values = fields.flatMap((_, i) => [before?.[i] ?? "", changes[i]?.[1] ?? ""]);
      yield csvLine([...cells, verdict, reasonOf(classified, source), ...values]);
    }
  }
}

function reasonOf({ row, duplicateOf }: ClassifiedRow, source: RowSource): string {
  if (row.problem !== undefined) return row.problem.message;
  return duplicateOf === undefined ? "" : `the same as line ${source.lineOf(duplicateOf)}`;
}

// Lists runs page by page, newest first, filtered by state and profile.

const readAtOnce = 100;
/** A page ends after this many runs were scanned, whether they match or not. */
const maxScanned = 2_000;

interface RunQuery {
  readonly limit: number;
  readonly cursor?: string | undefined;
  readonly state?: RunState | undefined;
  readonly profile?: string | undefined;
}

interface RunPage {
  readonly runs: RunRecord[];
  readonly nextCursor: string | null;
}

/** @throws SimfleetError REQUEST_INVALID for an invalid cursor */
async function runPage(ledger: Ledger, query: RunQuery): Promise<RunPage> {
  return withValidCursor(query.cursor, () => readPage(ledger, query));
}

/** The ledger's cursors are run ids. @throws SimfleetError REQUEST_INVALID if there is no such run */
async function withValidCursor<T>(cursor: string | undefined, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (thrown) {
    if (!(thrown instanceof SimfleetError) || thrown.code !== "RUN_NOT_FOUND") throw thrown;
    throw new SimfleetError(
      "REQUEST_INVALID",
      `${JSON.stringify(cursor)} is not a valid cursor: use the nextCursor of the previous page`,
    );
  }
}

async function readPage(ledger: Ledger, query: RunQuery): Promise<RunPage> {
  const { limit, state, profile } = query;
  if (state === undefined && profile === undefined) return ledger.list(pageOf(limit, query.cursor));
  const runs: RunRecord[] = [];
  let cursor = query.cursor;
  for (let scanned = 0; scanned < maxScanned; scanned += readAtOnce) {
    const page = await ledger.list(pageOf(readAtOnce, cursor));
    for (const [at, run] of page.runs.entries()) {
      if ((state !== undefined && run.state !== state) || (profile !== undefined && run.profile !== profile)) continue;
      runs.push(run);
      const isLast = page.nextCursor === null && at === page.runs.length - 1;
      if (runs.length === limit) return { runs, nextCursor: isLast ? null : run.runId };
    }
    if (page.nextCursor === null) return { runs, nextCursor: null };
    cursor = page.nextCursor;
  }
  return { runs, nextCursor: cursor ?? null };
}

function pageOf(limit: number, cursor: string | undefined): { limit: number; cursor?: string } {
  return cursor === undefined ? { limit } : { limit, cursor };
}

/**
 * Operations on runs, shared by the CLI and the HTTP API. It takes and returns plain values and depends on neither
 * terminal nor HTTP.
 */
import type { Clock } from "#core/time.ts";
import type { Outcome, RunOptions, RunState } from "#fleet/run.ts";
import type { Wording } from "#fleet/sim.ts";
import type { BucketState, Limiter } from "#limiter/limiter.ts";
import type { WorkerRegistry } from "#engine/queue/worker-registry.ts";
import { type Queues, queueName } from "./work/queues.ts";
import type { Inventory } from "#jobs/inventory/store/inventory.ts";
import type { Ledger } from "./ledger/ledger.ts";
import type { RunRecord } from "./ledger/run-record.ts";
import { type RunCensus, censusOf } from "./census.ts";
import { RunControl } from "./control.ts";
import { readWhenEnded } from "./ended-run.ts";
import { type Plan, type PlanRequest, makePlan, quotaView } from "./plan/plan.ts";
import { type PlanRow, planRows } from "./plan/plan-rows.ts";
import type { RunPolicy } from "./policy.ts";
import type { QuotaView } from "./plan/quota-estimate.ts";
import { type RunReport, reportOf } from "./report.ts";
import { type ResultsFormat, resultLines } from "./results.ts";
import { type RowReport, rowPage } from "./row-page.ts";
import { runPage } from "./run-page.ts";
import { retriedByDefault, retrySubmission } from "./retry.ts";
import { undoSubmission } from "./undo.ts";
import { planLines } from "./plan/plan-lines.ts";
import { type Signature, assertAllValid, storedRows, submitRun } from "./submit.ts";

export class RunService {
  readonly control: RunControl;
  readonly #ledger: Ledger;
  readonly #inventory: Inventory;
  readonly #queues: Queues;
  readonly #limiter: Limiter;
  readonly #workerRegistry: WorkerRegistry;
  readonly #periodMs: number;
  readonly #submitDeps: { ledger: Ledger; inventory: Inventory; queues: Queues; clock: Clock; policy: RunPolicy };

  constructor(deps: {
    ledger: Ledger;
    inventory: Inventory;
    queues: Queues;
    limiter: Limiter;
    workerRegistry: WorkerRegistry;
    clock: Clock;
    periodMs: number;
    policy: RunPolicy;
  }) {
    this.#ledger = deps.ledger;
    this.#inventory = deps.inventory;
    this.#queues = deps.queues;
    this.#limiter = deps.limiter;
    this.#workerRegistry = deps.workerRegistry;
    this.#periodMs = deps.periodMs;
    const { ledger, inventory, queues, clock, policy } = deps;
    this.#submitDeps = { ledger, inventory, queues, clock, policy };
    this.control = new RunControl(deps);
  }

  /** @throws IntakeError for a file that cannot be read as input */
  plan(request: {
    from: PlanRequest["from"];
    profile: string;
    wording: Wording;
    bucket: string;
    speedClass?: string | undefined;
    knownSpeedClasses: readonly string[];
    skipUnchanged?: boolean;
    callsPerMinute?: number | undefined;
  }): Promise<Plan> {
    const fleet = { inventory: this.#inventory, profile: request.profile };
    return makePlan({ ...request, fleet, periodMs: this.#periodMs }, this.#limiter);
  }

  /**
   * Submits a planned file as a run.
   * @throws IntakeError if it has invalid rows and `partial` is not set, or has changed since it was planned
   */
  async submit(
    plan: Plan,
    order: Signature & { name: string; profile: string; bucket: string; source: string; options: RunOptions },
  ): Promise<RunReport> {
    const { source } = plan;
    assertAllValid(source, order.options);
    const head = await submitRun(
      {
        ...order,
        header: source.header,
        sha256: source.sha256,
        total: source.counts.rows,
        calls: plan.calls,
        rows: storedRows(source, { inventory: this.#inventory, profile: order.profile }, order.options),
      },
      this.#submitDeps,
    );
    return this.show(head.runId);
  }

  /** Retries the unsuccessful rows of a run that has ended, in a new run that refers to it. */
  async retry(
    runId: string,
    { outcomes = retriedByDefault, ...signature }: Signature & { outcomes?: readonly Outcome[] | undefined },
  ): Promise<RunReport> {
    const run = await readWhenEnded(runId, this.#submitDeps);
    const submission = await retrySubmission(run, this.#ledger, outcomes);
    return this.show((await submitRun({ ...submission, ...signature }, this.#submitDeps)).runId);
  }

  /**
   * Counts the rows of an undo of the run.
   * @throws SimfleetError RUN_STATE if the run has not ended, or has changed nothing
   */
  async planUndo(runId: string, wording: Wording): Promise<{ total: number; calls: number }> {
    const deps = this.#submitDeps;
    return undoSubmission(await readWhenEnded(runId, deps), deps, wording);
  }

  /**
   * Restores what a run that has ended changed, in a new run that refers to it; later changes are kept. It relies on the
   * inventory, so callers should sync just before.
   */
  async undo(runId: string, { wording, ...signature }: Signature & { wording: Wording }): Promise<RunReport> {
    const submission = await undoSubmission(await readWhenEnded(runId, this.#submitDeps), this.#submitDeps, wording);
    return this.show((await submitRun({ ...submission, ...signature }, this.#submitDeps)).runId);
  }

  /** Renders the verdict of every row of a plan, as lines of a CSV file. */
  verdicts(plan: Plan, profile: string): AsyncGenerator<string> {
    return planLines(plan.source, { inventory: this.#inventory, profile });
  }

  exists(runId: string): Promise<boolean> {
    return this.#ledger.exists(runId);
  }

  /** Yields every row of a plan with its verdict. */
  planRows(plan: Plan, profile: string): AsyncGenerator<PlanRow> {
    return planRows(plan.source, { inventory: this.#inventory, profile });
  }

  record(runId: string): Promise<RunRecord> {
    return this.#ledger.run(runId);
  }

  /** @throws SimfleetError RUN_NOT_FOUND */
  async show(runId: string): Promise<RunReport> {
    const run = await this.#ledger.run(runId);
    return reportOf(run, await quotaView(this.#limiter, run.bucket, this.#periodMs));
  }

  /**
   * Lists runs, newest first, filtered by `state` and `profile`.
   * @throws SimfleetError RUN_NOT_FOUND for an invalid cursor
   */
  async list(ask: {
    limit: number;
    cursor?: string | undefined;
    state?: RunState | undefined;
    profile?: string | undefined;
  }): Promise<{ runs: RunReport[]; nextCursor: string | null }> {
    const { runs, nextCursor } = await runPage(this.#ledger, ask);
    const quotas = new Map<string, Promise<QuotaView>>();
    const quotaOf = (bucket: string): Promise<QuotaView> => {
      const quota = quotas.get(bucket) ?? quotaView(this.#limiter, bucket, this.#periodMs);
      quotas.set(bucket, quota);
      return quota;
    };
    const reports = runs.map(async (run) => reportOf(run, await quotaOf(run.bucket)));
    return { runs: await Promise.all(reports), nextCursor };
  }

  /** Lists the rows of a run with their outcomes. @throws SimfleetError RUN_NOT_FOUND */
  async rows(
    runId: string,
    ask: { outcomes?: readonly Outcome[] | undefined; limit: number; cursor?: string | undefined },
  ): Promise<{ rows: RowReport[]; nextCursor: string | null }> {
    return rowPage(await this.#ledger.run(runId), this.#ledger, ask);
  }

  /** Counts the last thousand runs and their rows. */
  census(): Promise<RunCensus> {
    return censusOf(this.#ledger);
  }

  /** Number of quarantined segments (their job failed too often); `resume` retries them. */
  async quarantined(runId: string): Promise<number> {
    return (await this.#queues.quarantined(await this.#ledger.run(runId))).length;
  }

  /** Yields the results line by line, filtered by `outcomes`. */
  async *results(
    runId: string,
    ask: { format: ResultsFormat; outcomes?: readonly Outcome[] | undefined },
  ): AsyncGenerator<string> {
    yield* resultLines(await this.#ledger.run(runId), this.#ledger, ask);
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

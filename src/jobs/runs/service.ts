/**
 * Operations on runs, shared by the CLI and the HTTP API. It takes and returns plain values and depends on neither
 * terminal nor HTTP.
 */
import { basename } from "node:path";
import { type Outcome, type RunOptions, type RunState, outcomes, startedStates, isRunOver } from "#fleet/run.ts";
import {
  type SimOperation,
  type SimOperations,
  operationFor,
  operationNamed,
  setSpeedClassName,
} from "#fleet/sim-operation/sim-operation.ts";
import type { RowRequest } from "#intake/columns.ts";
import type { Reading } from "#telemetry/metrics.ts";
import { type RunQueues, queueName } from "./work/queue.ts";
import type { Kernel } from "#kernel/kernel.ts";
import { type KnownFleet, classifyRows } from "./plan/classify.ts";
import { type DraftDeps, type DraftRequest, type DraftSource, draftInWaves, writeDraft } from "./plan/draft.ts";
import { compareDraft, overlapSettler } from "./overlap.ts";
import { type ForecastDeps, forecaster, workByQuota } from "./plan/forecast.ts";
import { type Planned, Plans, missing, reportOfDraft } from "./plan/plans.ts";
import { type RowOrigin, openSource } from "./plan/row-source.ts";
import { type Submission, firstState, newRunId, runIdFor } from "./submit.ts";
import type { RunReport, listRuns } from "./contract.ts";
import type { Call } from "#contract/route.ts";
import { reportOfRun } from "./report.ts";
import { resultLines } from "./results/results.ts";
import { assertEnded, readSettled, readWhenEnded } from "./results/sent-rows.ts";
import { type RetriedRows, retrySource, undoSource } from "./follow-up.ts";
import { operationBucket } from "./work/row-call.ts";
import { traced, tracing } from "#core/traced.ts";
import { minuteMs } from "#core/time.ts";
import { SimfleetError, messageOf } from "#core/errors.ts";
import { readSharing } from "#engine/sharing.ts";
import { assertWritable } from "#redis/node.ts";
import type { RunHead, RunRecord } from "./ledger/run-record.ts";

/** How rows are planned and run. */
export interface Order extends Pick<RowRequest, "set" | "fromResults"> {
  readonly profile: string;
  /** Name of the operation. Defaults to `set-speed-class`. */
  readonly operation?: string | undefined;
  /** Speed classes that the platform definition does not list are sent as well. */
  readonly allowUnlisted?: boolean | undefined;
  /** Name of the run; the file name or the filter by default. */
  readonly name?: string | undefined;
  readonly options: RunOptions;
}

interface RunDeps extends ForecastDeps, DraftDeps, Pick<Kernel, "redis" | "keys" | "client" | "wordingOf"> {
  readonly freezes: Pick<Kernel["freezes"], "of">;
  readonly queues: RunQueues;
}

/** A page ends after this many runs were scanned, whether they match or not. */
const maxScanned = 2_000;
const readAtOnce = 100;

export class RunService {
  readonly control: ReturnType<typeof runControl>;
  /** Runs that were planned and not started yet. */
  readonly plans: Plans;
  /** The operations of the platform definition, by name. */
  readonly operations: SimOperations;
  readonly #deps: RunDeps;
  readonly #forecasts: ReturnType<typeof forecaster>;

  constructor(deps: RunDeps) {
    this.#deps = deps;
    this.#forecasts = forecaster(deps);
    this.plans = new Plans(deps);
    this.operations = deps.config.deployment.simOperations;
    this.control = runControl(deps);
  }

  /**
   * An operation as a profile uses it.
   * @throws SimfleetError OPERATION_NOT_FOUND
   */
  operation(name: string, profile: string): SimOperation {
    return operationFor(operationNamed(this.operations, name), this.#deps.wordingOf(profile));
  }

  /**
   * Checks what can be known before the rows are received.
   * @throws SimfleetError OPERATION_NOT_FOUND, USAGE if its secret inputs could not be stored
   */
  assertOperation(name: string | undefined, profile: string): SimOperation {
    const operation = this.operation(name ?? setSpeedClassName, profile);
    this.#deps.sealInputs.assertKey(operation);
    return operation;
  }

  /**
   * Plans rows; makes no call. The draft has to be kept, submitted or discarded; it expires within an hour.
   * @param signal aborts when the caller no longer waits for the plan
   * @throws IntakeError for a file that cannot be read as input, or an invalid value for all rows; the signal's reason
   * @throws SimfleetError OPERATION_NOT_FOUND, USAGE for a filter without a required value or secret inputs without a
   *   key, STORE_FULL
   */
  async draft(from: RowOrigin, order: Order, signal?: AbortSignal): Promise<Planned> {
    const { profile, options, set, fromResults, allowUnlisted } = order;
    const operation = this.assertOperation(order.operation, profile);
    refuseSecretValues(operation, set);
    const { gate } = options.waves ?? {};
    const fleet = { ...this.#fleet(profile), gate, ...(allowUnlisted === true ? { speedClasses: [] } : {}) };
    const opened = await openSource(from, { operation, set, fromResults }, { ...fleet, signal });
    const { batches, ...about } = opened;
    const { origin } = about;
    const name = order.name ?? ("file" in origin ? basename(origin.file) : origin.where);
    const bucket = operationBucket(operation, profile);
    // Rows that change nothing are left out where the inventory is fresh; a run in progress may change it.
    const isQuiet = async (): Promise<boolean> => (await this.#deps.ledger.active(profile)).length === 0;
    try {
      const skipUnchanged = options.skipUnchanged ?? ((await isQuiet()) && "fresh");
      const rows = classifyRows(batches, operation, { ...fleet, skipUnchanged });
      const source = { ...about, operations: [operation], rows } as const;
      return await this.#draft(source, { name, profile, bucket, options, signal });
    } finally {
      opened.close?.();
    }
  }

  /**
   * Plans a retry of the unsuccessful rows of a run that has ended.
   * @param id the id of the retry, if it was fixed in advance
   * @throws SimfleetError RUN_STATE_CONFLICT if there is nothing to retry, or another run has taken the rows
   */
  async draftRetry(runId: string, which: RetriedRows = {}, id?: string): Promise<Planned> {
    const run = await readWhenEnded(runId, this.#deps);
    const source = retrySource(run, this.#deps, { ...which, newRunId: id });
    // Somebody has chosen its rows.
    const options = { ...run.options, skipUnchanged: false };
    return this.#draft(source, { ...sameAs(run, "retry"), options, retryOf: runId });
  }

  /**
   * Plans the restoration of what a run that has ended changed; later changes are kept. It relies on the inventory, so
   * callers should sync just before.
   * @throws SimfleetError RUN_STATE_CONFLICT if the run has not ended, or has changed nothing
   */
  async draftUndo(runId: string, id?: string, pausing?: RunRecord): Promise<Planned> {
    const run = pausing ?? (await readWhenEnded(runId, this.#deps));
    const operation = (name: string): SimOperation => this.operation(name, run.profile);
    const source = undoSource(run, { ...this.#deps, operationNamed: operation }, id);
    const options = { partial: false, skipUnchanged: false };
    return this.#draft(source, { ...sameAs(run, "undo"), options, undoOf: runId });
  }

  /** Starts the undo of a run that is about to pause, once. @returns its run id @throws as `draftUndo` and `submit` */
  async undoWave(run: RunRecord): Promise<string> {
    const id = runIdFor(`undo wave ${run.wave} of ${run.runId}`, run.createdAtMs);
    if (await this.exists(id)) return id;
    const planned = await this.draftUndo(run.runId, id, { ...run, state: "paused" });
    await this.submit(planned, { by: `run:${run.runId}`, runId: id, isUnattended: true });
    return id;
  }

  async #draft(source: DraftSource, request: Omit<DraftRequest, "operator">): Promise<Planned> {
    const { ledger, limiter, config } = this.#deps;
    const operator = (await readSharing(this.#deps)).operatorOf(request.profile);
    const written = await writeDraft(source, { ...request, operator }, this.#deps);
    const { supersedes, disjoint } = await compareDraft(written, ledger);
    const draft = disjoint.length === 0 ? written : { ...written, head: { ...written.head, disjoint } };
    const fleet = this.#fleet(request.profile);
    const runId = draft.draftId;
    const forecast = (await this.#forecasts([], { ...draft.head, runId, supersedes })).get(runId);
    const { needed } = await limiter.state(draft.head.bucket);
    const othersPerMinute = (needed * minuteMs) / config.limits.periodMs;
    const known = { supersedes, fleet, forecast, othersPerMinute };
    return { draft, report: await reportOfDraft(draft, known) };
  }

  #fleet(profile: string): KnownFleet {
    const { inventory, config } = this.#deps;
    return { inventory, profile, operations: this.operations, speedClasses: config.deployment.speedClasses };
  }

  /** Removes a draft that is not needed. */
  discard({ draft }: Planned): Promise<void> {
    return this.#deps.ledger.discard(draft.draftId);
  }

  /**
   * Submits a draft as a run; it is discarded if it is rejected.
   * @throws IntakeError if it has invalid rows and `partial` is not set
   * @throws SimfleetError NOT_CONFIRMED, USAGE, RUN_STATE_CONFLICT if another run has taken its rows
   */
  async submit(planned: Planned, { by, runId, confirm, isUnattended }: Submission): Promise<RunReport> {
    const { ledger, config, clock } = this.#deps;
    const { draft, report } = planned;
    try {
      const how = { confirm: confirm ?? planned.confirm, isUnattended, policy: config.changes };
      const state = firstState(report, draft.head, how);
      const id = runId ?? newRunId(clock.wallMs());
      return await this.#begin({ ...draft.head, runId: id }, { by, calls: report.calls, state }, async (head) => {
        const committed = await ledger.commit(head, state, draft.draftId, { takes: draft.takes });
        if (committed === "committed" || runId !== undefined) return;
        throw new SimfleetError("RUN_STATE_CONFLICT", `The new ID ${id} belongs to another run: submit the rows again`);
      });
    } catch (thrown) {
      await this.discard(planned).catch(() => undefined);
      throw thrown;
    }
  }

  /**
   * Starts exactly what was planned, in the waves and within the limits that are given now.
   * @throws SimfleetError NOT_FOUND if the plan has expired; RUN_STATE_CONFLICT if it was started already, or the run
   *   that it retries or undoes goes on again; REQUEST_INVALID for other waves of a plan with a gate; as `submit`
   * @throws ConfigError if the profile lacks credentials or an address
   */
  async start(
    planId: string,
    { by, confirm, options: given }: Pick<Submission, "by" | "confirm"> & { readonly options: Partial<RunOptions> },
  ): Promise<RunReport> {
    const { ledger, client, config } = this.#deps;
    const started = (): SimfleetError =>
      new SimfleetError("RUN_STATE_CONFLICT", `The plan ${planId} was already started, as the run of this ID`);
    const fail = async (thrown: unknown): Promise<never> => {
      throw (await this.exists(planId)) ? started() : thrown;
    };
    const plan = await this.plans.get(planId).catch(fail);
    const { run, report } = plan;
    const sourceId = run.retryOf ?? run.undoOf;
    client(run.profile);
    if (sourceId !== undefined) {
      assertEnded(await readWhenEnded(sourceId, this.#deps), run.undoOf === undefined ? "retried" : "undone");
    }
    if (given.waves !== undefined && run.options.waves?.gate !== undefined) {
      throw new SimfleetError(
        "REQUEST_INVALID",
        `The plan ${planId} has waves with a gate: create a plan with the other waves`,
      );
    }
    const { callsPerMinute = run.options.callsPerMinute, maxFailures = run.options.maxFailures } = given;
    const options = { ...run.options, callsPerMinute, maxFailures, waves: given.waves ?? run.options.waves };
    const state = firstState(report, { ...run, options }, { confirm: confirm ?? plan.confirm, policy: config.changes });
    const drafted = given.waves && (await draftInWaves(run, options, this.#deps).catch(fail));
    const { draftId, ...parts } = drafted ?? {};
    return this.#begin({ ...run.head, options, ...parts }, { by, calls: report.calls, state }, async (complete) => {
      const reply = await ledger.commit(complete, state, draftId, { takes: plan.takes, plan: "start" });
      if (reply === "expired") throw missing(planId);
      if (reply === "exists") throw started();
    });
  }

  /** Completes a run's head, commits it, and enqueues its jobs. A crash after the commit: any worker enqueues them. */
  #begin(
    head: Omit<RunHead, "createdAtMs">,
    { by, calls, state }: { readonly by: string; readonly calls: number; readonly state: RunState },
    commit: (head: RunHead) => Promise<void>,
  ): Promise<RunReport> {
    const { ledger, queues, clock } = this.#deps;
    const { bucket, options, runId, segments } = head;
    return traced(
      () => ({
        name: `send ${bucket}`,
        kind: "producer",
        attributes: {
          "messaging.system": "bullmq",
          "messaging.operation.name": "send",
          "messaging.operation.type": "send",
          "messaging.destination.name": bucket,
        },
      }),
      async (span) => {
        const traceParent = tracing()?.parent();
        const limit = options.maxFailures;
        const maxFailures = limit && ("rows" in limit ? limit.rows : Math.floor((calls * limit.percent) / 100));
        await commit({ ...head, createdAtMs: clock.wallMs(), submittedBy: by, traceParent, maxFailures });
        span?.set({ "simfleet.run.id": runId, "messaging.batch.message_count": segments.length });
        if (state === "running") await queues.enqueue(await ledger.run(runId));
        // Its rows ask for the values that their SIMs have, and no work on it would say so.
        if (state === "completed") await overlapSettler(ledger)(runId);
        return this.show(runId);
      },
    );
  }

  /** Whether there is a run with this id that was started. */
  async exists(runId: string): Promise<boolean> {
    return !["planned", "gone"].includes(await this.#deps.ledger.state(runId));
  }

  record(runId: string): Promise<RunRecord> {
    return this.#deps.ledger.run(runId);
  }

  /** @throws SimfleetError RUN_NOT_FOUND */
  async show(runId: string): Promise<RunReport> {
    const run = await readSettled(runId, this.#deps);
    return (await this.#reports([run]))[0] ?? reportOfRun(run);
  }

  /** While Redis rejects writes, it keeps no problem of a run and tells no quota. */
  async #reports(runs: readonly RunRecord[]): Promise<RunReport[]> {
    const { clock, redis, keys } = this.#deps;
    const going = runs.filter(({ state }) => state === "running");
    if (going.length === 0) return runs.map((run) => reportOfRun(run));
    const message = await assertWritable(redis, keys).then(() => undefined, messageOf);
    if (message !== undefined) {
      const since = new Date(clock.wallMs()).toISOString();
      const problem = { message, since, attempts: 1, nextAttemptAt: null };
      return runs.map((run) => ({ ...reportOfRun(run), ...(run.state === "running" ? { problem } : {}) }));
    }
    const forecasts = await this.#forecasts(going);
    const freezes = [...new Set(going.map(({ profile }) => profile))].map(
      async (profile) => [profile, (await this.#deps.freezes.of(profile))?.reason] as const,
    );
    const frozen = new Map(await Promise.all(freezes));
    return runs.map((run) => {
      const reason = run.state === "running" ? frozen.get(run.profile) : undefined;
      const report = reportOfRun(run, forecasts.get(run.runId));
      return reason === undefined ? report : { ...report, etaSeconds: null, ahead: undefined, frozen: reason };
    });
  }

  /**
   * Lists runs page by page, newest first, filtered by `state` and `profile`.
   * @throws SimfleetError REQUEST_INVALID for an invalid cursor
   */
  async list({ limit, cursor, state, profile }: Call<typeof listRuns>["query"]) {
    const { ledger } = this.#deps;
    const atOnce = state === undefined && profile === undefined ? Math.min(limit + 1, readAtOnce) : readAtOnce;
    // Plans are few, and their ids sort by time.
    const found =
      state === "planned"
        ? (await ledger.planned()).filter(({ runId }) => cursor === undefined || runId < cursor)
        : ledger.newest(cursor, atOnce);
    const runs: RunRecord[] = [];
    let scanned = 0;
    let last: string | null = null;
    for await (const run of found) {
      if (runs.length === limit || scanned === maxScanned) return { runs: await this.#reports(runs), nextCursor: last };
      scanned += 1;
      last = run.runId;
      if ((state ?? run.state) === run.state && (profile ?? run.profile) === run.profile) runs.push(run);
    }
    return { runs: await this.#reports(runs), nextCursor: null };
  }

  /** Counts the last thousand runs by state, and their rows by outcome. */
  async census(): Promise<Reading[]> {
    const runs = new Map<string, number>(startedStates.map((state) => [state, 0]));
    const rows = new Map<Outcome, number>(outcomes.map((outcome) => [outcome, 0]));
    for (const { state, tally } of await this.#deps.ledger.statuses()) {
      runs.set(state, (runs.get(state) ?? 0) + 1);
      for (const outcome of outcomes) rows.set(outcome, (rows.get(outcome) ?? 0) + tally[outcome]);
    }
    return [
      ...[...runs].map(([state, value]) => ({ metric: "runs" as const, value, labels: { state } })),
      ...[...rows].map(([outcome, value]) => ({ metric: "rows" as const, value, labels: { outcome } })),
    ];
  }

  /** Yields the results line by line, filtered by `outcomes`. */
  async *results(runId: string, options: Parameters<typeof resultLines>[2]): AsyncGenerator<string> {
    yield* resultLines(await readSettled(runId, this.#deps), this.#deps.ledger, options);
  }

  /** The buckets, and thus the queues, of a profile's changes: one for each API group of its operations. */
  bucketsOf(profile: string): readonly string[] {
    return [...new Set([...this.operations.values()].map((operation) => operationBucket(operation, profile)))];
  }

  /** How many runs are in progress. */
  async running(): Promise<number> {
    return (await this.#deps.ledger.running()).length;
  }

  /** How many live processes work on the runs of a profile. */
  async workersOf(profile: string): Promise<number> {
    const workers = this.bucketsOf(profile).map((bucket) => this.#deps.workerRegistry.workers(queueName(bucket)));
    return Math.max(0, ...(await Promise.all(workers)).map(({ length }) => length));
  }

  /** The running runs of each quota that need more than its present window. */
  async work(): Promise<ReturnType<typeof workByQuota>> {
    const running = await this.#deps.ledger.running();
    if (running.length === 0) return new Map();
    return workByQuota(running, await this.#forecasts(running));
  }
}

/** Name and account that a retry or an undo takes over from its run. */
function sameAs({ name, profile, bucket }: RunRecord, what: "retry" | "undo") {
  return { name: `${name} (${what})`, profile, bucket };
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

// Pauses, resumes, approves and cancels runs. The transitions of a run are
//   running -> paused (pause)            paused -> running (resume)
//   awaiting-approval -> running (approve, by another user)
//   running | paused | awaiting-approval -> cancelled (cancel)
// and those caused by its own rows (settle.lua): completed, aborted. Workers notice a transition with the next outcome.

interface By {
  readonly reason?: string;
  readonly by?: string;
}

function runControl({ ledger, queues, clock }: Pick<RunDeps, "ledger" | "queues" | "clock">) {
  return {
    /** Stops making calls; calls in flight end and are settled. */
    pause: (runId: string, options: By = {}): Promise<void> =>
      ledger.move(runId, "paused", ["running", "paused"], options),

    /** Resumes the run where it was paused. Also skips pending retry delays. */
    async resume(runId: string, options: Pick<By, "by"> = {}): Promise<void> {
      const { state } = await ledger.run(runId);
      if (isRunOver(state)) {
        throw new SimfleetError(
          "RUN_STATE_CONFLICT",
          `Run ${runId} is ${state} and cannot be resumed: retry its unsuccessful rows with simfleet runs retry ${runId}`,
        );
      }
      await ledger.move(runId, "running", ["paused", "running"], options);
      await queues.enqueue(await ledger.run(runId), "now");
    },

    /**
     * Starts a run that awaits approval.
     * @param by who approves; must differ from who submitted the run
     * @throws SimfleetError RUN_STATE_CONFLICT
     */
    async approve(runId: string, by: string): Promise<void> {
      const { submittedBy, state } = await ledger.run(runId);
      if (state === "awaiting-approval" && submittedBy === by) {
        throw new SimfleetError(
          "RUN_STATE_CONFLICT",
          `Run ${runId} was submitted by ${by}: someone else has to approve it (simfleet runs approve ${runId})`,
        );
      }
      await ledger.move(runId, "running", ["awaiting-approval"], { by });
      await queues.enqueue(await ledger.run(runId));
    },

    /** Ends the run: rows not yet sent are left unchanged. Waits some seconds for calls in flight. */
    async cancel(runId: string, options: By = {}): Promise<void> {
      const how = { reason: "cancelled by a user", ...options };
      await ledger.move(runId, "cancelled", ["running", "paused", "awaiting-approval"], how);
      await readWhenEnded(runId, { ledger, clock });
      // No work on it would do that anymore, and its rows can be removed from now on.
      await overlapSettler(ledger)(runId);
    },
  };
}

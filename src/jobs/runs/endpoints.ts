/** What answers the routes of runs and plans. */
import { type Call, creating, type Creation, type Endpoint, endpoint, type Rows } from "#contract/route.ts";
import { asList } from "#contract/fields.ts";
import { SimfleetError } from "#core/errors.ts";
import type { Clock } from "#core/time.ts";
import type { FailureLimit } from "#fleet/run.ts";
import * as routes from "./contract.ts";
import type { PlanDocument, RunReport } from "./contract.ts";
import { assertHasRows } from "./ledger/run-record.ts";
import type { OrderQuery } from "./order-query.ts";
import type { Plan } from "./plan/plan.ts";
import { reportOfPlan } from "./plan/plan-report.ts";
import type { PlanStore, StoredPlan } from "./plan/plan-store.ts";
import type { Order, RunService } from "./service.ts";
import { newRunId } from "./submit.ts";
import { showRunSummary } from "./summary-contract.ts";

export interface RunEndpointDeps {
  readonly runs: RunService;
  readonly plans: PlanStore;
  readonly clock: Clock;
  /** The named profile, or the default. @throws SimfleetError NOT_FOUND */
  readonly profileOf: (name?: string) => string;
  /** @throws ConfigError if the profile lacks credentials or an address */
  readonly assertUsable: (profile: string) => void;
}

export function runEndpoints(deps: RunEndpointDeps): readonly Endpoint[] {
  const { runs, profileOf } = deps;
  return [
    ...planEndpoints(deps),
    creating(
      routes.startRun,
      (call) => ({
        ...newRun(deps),
        create: (runId) =>
          call.query.planId === undefined ? startRows(call, runId, deps) : startPlanned(call, runId, deps),
      }),
      ({ query }, { hasRows }) => {
        runs.assertOperation(query.operation, profileOf(query.profile));
        assertPlanAlone(query, hasRows);
      },
    ),
    endpoint(routes.listRuns, ({ query }) => {
      if (query.profile !== undefined) profileOf(query.profile);
      return runs.list(query);
    }),
    endpoint(routes.showRun, ({ params: { runId } }) => runs.show(runId)),
    endpoint(routes.listRunRows, ({ params, query: { outcome, ...query } }) =>
      runs.rows(params.runId, { outcomes: asList(outcome), ...query }),
    ),
    endpoint(showRunSummary, ({ params }) => runs.summaries.of(params.runId)),
    endpoint(routes.listRunsOfSim, ({ params, query: { profile, limit, cursor } }) =>
      runs.ofSim(params.sim, { profile: profileOf(profile), limit, cursor }),
    ),
    endpoint(routes.downloadResults, async ({ params: { runId }, query: { outcome, format } }) => {
      assertHasRows(await runs.record(runId)); // an error is reported before the first line
      const lines = runs.results(runId, { format, outcomes: asList(outcome) });
      return { format, fileName: `${runId}.results.${format}`, lines };
    }),
    ...stepEndpoints(deps),
  ];
}

function planEndpoints(deps: RunEndpointDeps): readonly Endpoint[] {
  const { runs, plans } = deps;
  return [
    creating(
      routes.createPlan,
      (call) => ({
        newId: () => plans.newPlanId(),
        create: (planId) => createPlan(call, planId, deps),
        find: (planId) => plans.get(planId).then(documentOf, () => undefined),
        pathOf: ({ planId }) => `/plans/${planId}`,
      }),
      ({ query }) => void runs.assertOperation(query.operation, deps.profileOf(query.profile)),
    ),
    endpoint(routes.showPlan, async ({ params }) => documentOf(await plans.get(params.planId))),
    endpoint(routes.downloadVerdicts, async ({ params: { planId } }) => {
      const verdicts = await plans.use(planId, async (stored) => {
        const plan = await planOf(stored, runs);
        return () => runs.verdicts(plan, stored.order.profile);
      });
      return { format: "csv" as const, fileName: `${planId}.verdicts.csv`, lines: held(planId, verdicts, plans) };
    }),
    endpoint(routes.deletePlan, async ({ params }) => {
      await plans.remove(params.planId);
      return undefined;
    }),
  ];
}

async function createPlan(
  { rows, query, by }: Call<typeof routes.createPlan>,
  planId: string,
  { runs, plans, profileOf }: RunEndpointDeps,
): Promise<PlanDocument> {
  const { from, source, uploadId, signal } = rows;
  const order = orderOf(query, rows, profileOf);
  const plan = await runs.plan(from, order, signal);
  // An upload has a path of its own, which means nothing to the caller.
  const report = { ...reportOfPlan(plan), ...(uploadId !== undefined && "path" in from ? { file: source } : {}) };
  return documentOf(await plans.put({ planId, by, order, from, source, report, plan }, uploadId));
}

function documentOf({ planId, expiresAtMs, report }: StoredPlan): PlanDocument {
  return { planId, expiresAt: new Date(expiresAtMs).toISOString(), ...report };
}

/** Starts a run from rows that come with the request; they are read into the ledger and not needed afterwards. */
async function startRows(
  { query, rows, by }: Call<typeof routes.startRun>,
  runId: string,
  { runs, profileOf, assertUsable }: RunEndpointDeps,
): Promise<RunReport> {
  if (rows === undefined) {
    throw new SimfleetError("REQUEST_INVALID", "Send a CSV file, a filter in JSON, or the planId of a plan");
  }
  const order = orderOf(query, rows, profileOf);
  assertUsable(order.profile);
  const plan = await runs.plan(rows.from, order, rows.signal);
  return runs.submit(plan, { ...order, source: rows.source, by, runId });
}

/** Starts exactly what was planned. */
function startPlanned(
  { query, rows, by }: Call<typeof routes.startRun>,
  runId: string,
  { runs, plans, assertUsable }: RunEndpointDeps,
): Promise<RunReport> {
  assertPlanAlone(query, rows !== undefined);
  return plans.use(query.planId ?? "", async (stored) => {
    const { source } = stored;
    const order = { ...stored.order, confirm: query.confirm ?? stored.order.confirm };
    assertUsable(order.profile);
    const plan = await planOf(stored, runs);
    return runs.submit(plan, { ...order, source, by, runId });
  });
}

/** The plan, made again if only its rows are stored. @throws SimfleetError RUN_STATE_CONFLICT if the rows have changed */
async function planOf({ plan: made, from, order, report }: StoredPlan, runs: RunService): Promise<Plan> {
  const plan = made ?? (await runs.plan(from, order));
  if (plan.source.sha256 === report.sha256) return plan;
  throw new SimfleetError(
    "RUN_STATE_CONFLICT",
    "The rows of the plan have changed since it was created: create a new plan",
  );
}

/** Lines that read a plan, which stays stored until they end. */
async function* held(
  planId: string,
  lines: () => AsyncIterable<string>,
  plans: PlanStore,
): AsyncGenerator<string, void, undefined> {
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const { promise: opened, resolve, reject } = Promise.withResolvers<void>();
  const using = plans.use(planId, () => (resolve(), ended)).catch(reject);
  try {
    await opened;
    yield* lines();
  } finally {
    end();
    await using;
  }
}

/** @throws SimfleetError REQUEST_INVALID for a plan with rows or options */
function assertPlanAlone({ planId, ...options }: OrderQuery & { planId?: string | undefined }, hasRows: boolean): void {
  const hasOptions = Object.entries(options).some(([name, value]) => name !== "confirm" && value !== undefined);
  if (planId === undefined || (!hasRows && !hasOptions)) return;
  throw new SimfleetError(
    "REQUEST_INVALID",
    "A plan already has rows and options: send planId without others but confirm, and without a body",
  );
}

function stepEndpoints(deps: RunEndpointDeps): readonly Endpoint[] {
  const { runs } = deps;
  const { control } = runs;
  return [
    endpoint(routes.pauseRun, async ({ params: { runId }, by }) => {
      await control.pause(runId, { by, reason: `paused by ${by}` });
      return runs.show(runId);
    }),
    endpoint(routes.resumeRun, async ({ params: { runId }, by }) => {
      await control.resume(runId, { by });
      return runs.show(runId);
    }),
    endpoint(routes.cancelRun, async ({ params: { runId }, by }) => {
      await control.cancel(runId, { by, reason: `cancelled by ${by}` });
      return runs.show(runId);
    }),
    endpoint(routes.approveRun, async ({ params: { runId }, by }) => {
      await control.approve(runId, by);
      return runs.show(runId);
    }),
    endpoint(routes.deleteRun, async ({ params: { runId } }) => {
      await runs.delete(runId);
      return undefined;
    }),
    creating(routes.retryRun, ({ params, body, by }) => ({
      ...newRun(deps),
      create: (runId) => {
        const { outcomes, lines, confirm } = body ?? {};
        return runs.retry(params.runId, { which: { outcomes, lines }, confirm, by, runId });
      },
    })),
    endpoint(routes.planRetry, ({ params, query: { outcome, lines } }) =>
      runs.planRetry(params.runId, { outcomes: asList(outcome), lines: lines?.split(",").map(Number) }),
    ),
    endpoint(routes.planUndo, ({ params }) => runs.planUndo(params.runId)),
    creating(routes.undoRun, ({ params, body, by }) => ({
      ...newRun(deps),
      create: (runId) => runs.undo(params.runId, { confirm: body?.confirm, by, runId }),
    })),
  ];
}

/** How a request that creates a run gives it its id beforehand, and finds it again. */
function newRun({ runs, clock }: RunEndpointDeps): Required<Omit<Creation<RunReport>, "create">> {
  return {
    newId: () => newRunId(clock.wallMs()),
    find: async (runId) => ((await runs.exists(runId)) ? runs.show(runId) : undefined),
    pathOf: ({ runId }) => `/runs/${runId}`,
  };
}

/** @throws SimfleetError NOT_FOUND when there is no such profile */
function orderOf(query: OrderQuery, rows: Rows, profileOf: (name?: string) => string): Order {
  const { profile, operation, speedClass, name, partial, skipUnchanged, rate, maxFailures, canary, confirm } = query;
  const given = Object.entries(query).flatMap(([field, value]) =>
    field.startsWith("set.") ? [[field.slice("set.".length), String(value)] as const] : [],
  );
  return {
    profile: profileOf(profile),
    operation: rows.operation ?? operation,
    set: { ...(speedClass === undefined ? {} : { speedClass }), ...Object.fromEntries(given), ...rows.set },
    fromResults: query.fromResults === "true",
    name,
    confirm,
    options: {
      partial: partial === "true",
      skipUnchanged: skipUnchanged === "true",
      ...(maxFailures === undefined ? {} : { maxFailures: failureLimitOf(maxFailures) }),
      ...(canary === undefined ? {} : { canary }),
      ...(rate === undefined ? {} : { callsPerMinute: rate }),
    },
  };
}

function failureLimitOf(text: string): FailureLimit {
  const amount = Number.parseFloat(text);
  return text.endsWith("%") ? { percent: amount } : { rows: amount };
}

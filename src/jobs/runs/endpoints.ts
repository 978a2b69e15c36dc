/** Endpoints of runs and plans. */
import * as routes from "./contract.ts";
import { type Call, type Creation, type Endpoint, type Rows, creating, endpoint } from "#contract/route.ts";
import { asList } from "#contract/fields.ts";
import { SimfleetError } from "#core/errors.ts";
import { type RunOptions, runOptionsOf } from "#fleet/run.ts";
import { valuesForAll } from "#fleet/sim-operation/sim-operation.ts";
import type { PlanDocument, RunReport, OrderQuery, RunSummary } from "./contract.ts";
import { assertHasRows } from "./ledger/run-record.ts";
import type { Order, RunService } from "./service.ts";
import type { Planned } from "./plan/plans.ts";
import { newRunId } from "./submit.ts";
import { keepAnswers } from "#core/kept.ts";
import type { Kernel } from "#kernel/kernel.ts";
import type { Ledger } from "./ledger/ledger.ts";
import type { RunRemoval } from "./removal/removal.ts";
import { planLines, planRowPage, rowPage, runsOfSim } from "./results/row-page.ts";
import { summarizeRun } from "./results/run-summary.ts";
import { readSettled, readWhenEnded } from "./results/sent-rows.ts";

/** Least time for which the summary of a run is kept. */
const minKeptMs = 2_000;

interface RunEndpointDeps extends Pick<Kernel, "limiter" | "clock" | "client" | "config" | "profileOf"> {
  readonly runs: RunService;
  readonly ledger: Ledger;
  readonly removal: RunRemoval;
}

export function runEndpoints(deps: RunEndpointDeps): readonly Endpoint[] {
  const { runs, ledger, profileOf } = deps;
  const { periodMs } = deps.config.limits;
  const summaries = keepAnswers<RunSummary>(deps.clock, minKeptMs);
  return [
    ...planEndpoints(deps),
    creating(
      routes.startRun,
      async (call) => {
        const { planId } = call.query;
        const asRun = newRun(deps);
        if (planId === undefined) return { ...asRun, ...(await startRows(call, deps)) };
        return { ...asRun, newId: () => planId, create: () => startPlan(call, planId, deps) };
      },
      ({ query }, { hasRows }) => {
        runs.assertOperation(query.operation, profileOf(query.profile));
        assertPlanAlone({ query, hasRows });
      },
    ),
    endpoint(routes.listRuns, ({ query }) => {
      if (query.profile !== undefined) profileOf(query.profile);
      return runs.list(query);
    }),
    endpoint(routes.showRun, ({ params: { runId } }) => runs.show(runId)),
    endpoint(routes.listRunRows, async ({ params, query }) =>
      rowPage(await readSettled(params.runId, deps), ledger, query),
    ),
    endpoint(routes.showRunSummary, async ({ params: { runId } }) =>
      // One from before the end of a run is not kept beyond it.
      summaries(`${runId} ${await ledger.state(runId)}`, () => summarizeRun(runId, { ...deps, periodMs })),
    ),
    endpoint(routes.listRunsOfSim, ({ params, query }) =>
      runsOfSim(params.sim, profileOf(query.profile), ledger, query),
    ),
    endpoint(routes.downloadResults, async ({ params: { runId }, query: { outcome, format } }) => {
      assertHasRows(await ledger.run(runId)); // an error is reported before the first line
      const lines = runs.results(runId, { format, outcomes: asList(outcome) });
      return { format, fileName: `${runId}.results.${format}`, lines };
    }),
    ...stepEndpoints(deps),
  ];
}

function planEndpoints(deps: RunEndpointDeps): readonly Endpoint[] {
  const { runs, clock } = deps;
  const { plans } = runs;
  return [
    creating(
      routes.createPlan,
      async ({ rows, query, by }) => ({
        newId: () => newRunId(clock.wallMs()),
        show: (planId) => plans.show(planId),
        pathOf: ({ planId }) => `/plans/${planId}`,
        ...(await drafted<PlanDocument>({ rows, query }, deps, (planned, planId) =>
          plans.keep(planned, { planId, by, upload: rows.upload }),
        )),
      }),
      ({ query }) => void runs.assertOperation(query.operation, deps.profileOf(query.profile)),
    ),
    endpoint(routes.showPlan, ({ params }) => plans.show(params.planId)),
    endpoint(routes.listPlanRows, async ({ params, query }) =>
      planRowPage((await plans.get(params.planId)).run, deps.ledger, query),
    ),
    endpoint(routes.downloadVerdicts, async ({ params: { planId } }) => ({
      format: "csv" as const,
      fileName: `${planId}.verdicts.csv`,
      lines: planLines((await plans.get(planId)).run, deps.ledger),
    })),
    endpoint(routes.deletePlan, ({ params }) => plans.remove(params.planId)),
  ];
}

/**
 * Plans the rows of a request, and uses the draft. A file is read as it arrives, since only its end tells which request
 * it is; other rows are read when the request is carried out.
 */
async function drafted<T>(
  { rows, query }: { readonly rows: Rows; readonly query: OrderQuery },
  { runs, profileOf }: RunEndpointDeps,
  use: (planned: Planned, id: string) => Promise<T>,
): Promise<Pick<Creation<T>, "create" | "sha256" | "abandon">> {
  const { from, signal, upload } = rows;
  const order = toOrder(query, rows, profileOf);
  const plan = (id?: string): Promise<Planned> => {
    if ("retryOf" in from) return runs.draftRetry(from.retryOf, from, id);
    if ("undoOf" in from) return runs.draftUndo(from.undoOf, id);
    return runs.draft(from, order, signal);
  };
  const draft = async (id?: string): Promise<Planned> => ({ ...(await plan(id)), confirm: query.confirm });
  if (upload === undefined || !("path" in from)) return { create: async (id) => use(await draft(id), id) };
  const planned = await draft();
  return {
    create: (id) => use(planned, id),
    sha256: planned.report.sha256,
    abandon: () => runs.discard(planned),
  };
}

/** Starts a run from rows that come with the request. */
function startRows({ query, rows, by }: Call<typeof routes.startRun>, deps: RunEndpointDeps) {
  if (rows === undefined) {
    throw new SimfleetError("REQUEST_INVALID", "Send a CSV file, a filter in JSON, or the planId of a plan");
  }
  deps.client(deps.profileOf(query.profile));
  return drafted({ rows, query }, deps, (planned, runId) => deps.runs.submit(planned, { by, runId }));
}

/** Starts exactly what was planned. */
async function startPlan({ query, by }: Call<typeof routes.startRun>, planId: string, { runs }: RunEndpointDeps) {
  return runs.start(planId, { by, confirm: query.confirm, options: toOptions(query) });
}

/** Options that can be given when a plan is started. */
const givenAtStart: readonly string[] = ["confirm", "rate", "maxFailures", "canary", "waves", "soak"];

/** @throws SimfleetError REQUEST_INVALID for a plan with rows or with options that change it */
function assertPlanAlone({ query, hasRows }: Pick<Call<typeof routes.startRun>, "query"> & { hasRows: boolean }): void {
  const { planId, ...options } = query;
  const hasOptions = Object.entries(options).some(
    ([name, value]) => !givenAtStart.includes(name) && value !== undefined,
  );
  if (planId === undefined || (!hasRows && !hasOptions)) return;
  throw new SimfleetError(
    "REQUEST_INVALID",
    `A plan already has rows and options: send planId without others but ${givenAtStart.join(", ")}, and without a body`,
  );
}

function stepEndpoints(deps: RunEndpointDeps): readonly Endpoint[] {
  const { runs } = deps;
  const { control } = runs;
  const step = (
    declared: typeof routes.pauseRun | typeof routes.resumeRun | typeof routes.cancelRun | typeof routes.approveRun,
    take: (runId: string, by: string) => Promise<void>,
  ): Endpoint =>
    endpoint(declared, async ({ params: { runId }, by }) => {
      await take(runId, by);
      return runs.show(runId);
    });
  return [
    step(routes.pauseRun, (runId, by) => control.pause(runId, { by, reason: `paused by ${by}` })),
    step(routes.resumeRun, (runId, by) => control.resume(runId, { by })),
    step(routes.cancelRun, (runId, by) => control.cancel(runId, { by, reason: `cancelled by ${by}` })),
    step(routes.approveRun, (runId, by) => control.approve(runId, by)),
    endpoint(routes.deleteRun, async ({ params: { runId } }) => {
      await deps.removal.remove(await readWhenEnded(runId, deps));
    }),
    creating(routes.retryRun, ({ params, body, by }) => ({
      ...newRun(deps),
      create: async (runId) => {
        const { confirm, ...which } = body ?? {};
        const planned = await runs.draftRetry(params.runId, which, runId);
        return runs.submit(planned, { confirm, by, runId });
      },
    })),
    creating(routes.undoRun, ({ params, body, by }) => ({
      ...newRun(deps),
      create: async (runId) =>
        runs.submit(await runs.draftUndo(params.runId, runId), { confirm: body?.confirm, by, runId }),
    })),
  ];
}

/** How a request that creates a run gives it its id beforehand, and finds it again. */
function newRun({ runs, clock }: RunEndpointDeps): Omit<Creation<RunReport>, "create"> {
  return {
    newId: () => newRunId(clock.wallMs()),
    exists: (runId) => runs.exists(runId),
    show: (runId) => runs.show(runId),
    pathOf: ({ runId }) => `/runs/${runId}`,
  };
}

/** @throws SimfleetError NOT_FOUND when there is no such profile */
function toOrder(query: OrderQuery, rows: Rows, profileOf: (name?: string) => string): Order {
  const { profile, operation, speedClass, name } = query;
  const given = Object.entries(query).flatMap(([field, value]) =>
    field.startsWith("set.") ? [[field.slice("set.".length), String(value)] as const] : [],
  );
  return {
    profile: profileOf(profile),
    operation: rows.operation ?? operation,
    set: valuesForAll({ speedClass, set: { ...Object.fromEntries(given), ...rows.set } }),
    fromResults: query.fromResults === "true",
    allowUnlisted: query.allowUnlisted === "true",
    name,
    options: toOptions(query),
  };
}

function toOptions(query: OrderQuery): RunOptions {
  const { partial, skipUnchanged } = query;
  const skips = skipUnchanged === undefined ? undefined : skipUnchanged === "true";
  return runOptionsOf({ ...query, partial: partial === "true", skipUnchanged: skips });
}

/** Runs: started from a file, a filter or a plan; listed, shown, and their results fetched. */
import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { SimfleetError } from "#core/errors.ts";
import { outcomes, runStates } from "#fleet/run.ts";
import type { RunReport } from "#jobs/runs/report.ts";
import type { RowReport } from "#jobs/runs/row-page.ts";
import type { Api, ControlDeps } from "../deps.ts";
import { newRun } from "../new-run.ts";
import { once } from "../once.ts";
import { type Order, orderOf, type Origin, planFor, profileOf, runQuery } from "../plans/order.ts";
import { actorOf } from "../auth/principal.ts";
import {
  asList,
  count,
  currentProblem,
  id,
  instant,
  nothing,
  ofPage,
  ofProfile,
  pageOf,
  several,
  shapeOf,
} from "#contract/fields.ts";
import { fileOfLines } from "../mount.ts";
import { handedOver } from "../plans/upload.ts";

const counts = z.object({
  total: count,
  done: count,
  skipped: count,
  rejected: count,
  failed: count,
  cancelled: count,
  pending: count,
});

export const runReport = shapeOf<RunReport>()({
  runId: z.string(),
  name: z.string(),
  state: z.enum(runStates),
  profile: z.string(),
  counts,
  calls: count,
  throttled: count,
  startedAt: instant.nullable(),
  finishedAt: instant.nullable(),
  etaSeconds: z.number().nullable(),
  reason: z.string().optional(),
  problem: currentProblem,
  submittedBy: z.string().optional(),
  retryOf: z.string().optional(),
  undoOf: z.string().optional(),
});

const rowReport = shapeOf<RowReport>()({
  line: count,
  key: z.string(),
  speedClass: z.string(),
  outcome: z.enum(outcomes),
  reason: z.string(),
  previousSpeedClass: z.string(),
  attempts: count,
  finishedAt: instant.nullable(),
});

export const ofRun = z.strictObject({ runId: id });
const tags = ["runs"];

export function runRoutes(api: Api, deps: ControlDeps): void {
  const { app } = deps;
  addStart(api, deps);
  api.get(
    "/runs",
    {
      config: { role: "viewer" },
      schema: {
        ...{ summary: "List runs, newest first; of all profiles unless one is given", tags },
        querystring: z.strictObject({ ...ofProfile, ...ofPage, state: z.enum(runStates).optional() }),
        response: { 200: pageOf("runs", runReport) },
      },
    },
    async ({ query }) => {
      if (query.profile !== undefined) profileOf(query.profile, deps);
      return app.runs.list(query);
    },
  );
  api.get(
    "/runs/:runId",
    {
      config: { role: "viewer" },
      schema: {
        ...{ summary: "Get a run", tags },
        params: ofRun,
        querystring: nothing,
        response: { 200: runReport },
      },
    },
    async ({ params }) => app.runs.show(params.runId),
  );
  api.get(
    "/runs/:runId/rows",
    {
      config: { role: "viewer" },
      schema: {
        ...{ summary: "List the rows of a run with their outcomes, in file order", tags },
        params: ofRun,
        querystring: z.strictObject({ ...ofPage, outcome: several(z.enum(outcomes)) }),
        response: { 200: pageOf("rows", rowReport) },
      },
    },
    async ({ params, query: { outcome, limit, cursor } }) =>
      app.runs.rows(params.runId, { outcomes: asList(outcome), limit, cursor }),
  );
  addResults(api, deps);
}

function addStart(api: Api, deps: ControlDeps): void {
  api.post(
    "/runs",
    {
      config: { role: "operator" },
      schema: {
        ...{ summary: "Start a run from a CSV file, a filter or a plan", tags },
        description:
          "The body is the file (text/csv), a form with it in the field `file`, or JSON with `where` and `speedClass`; it is empty with `planId`.",
        consumes: ["text/csv", "multipart/form-data", "application/json"],
        querystring: runQuery,
        response: { 202: runReport },
      },
    },
    async (request, reply) => {
      const { planId, ...query } = request.query;
      if (planId !== undefined) return startPlanned({ request, reply }, { planId, query }, deps);
      return startHandedOver({ request, reply }, orderOf(query, deps), deps);
    },
  );
}

interface Exchange {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** Starts what came with the request; the file is read into the ledger and not needed afterwards. */
async function startHandedOver(exchange: Exchange, order: Order, deps: ControlDeps): Promise<FastifyReply> {
  const { spool, plans } = deps;
  const by = actorOf(exchange.request.principal);
  const name = plans.fileOf(plans.newPlanId());
  const reservation = await plans.reserve(by);
  try {
    const rows = await handedOver(exchange.request, { spool, name, reservation });
    const asked = { ...order, speedClass: rows.speedClass ?? order.speedClass };
    return await once(deps, exchange, {
      ...newRun(deps),
      sha256: rows.sha256,
      make: (runId) => start(asked, { ...rows, by, runId }, deps),
    });
  } finally {
    await spool.remove(spool.path(name));
    reservation.release();
  }
}

/** Starts exactly what was planned. */
async function startPlanned(
  exchange: Exchange,
  { planId, query }: { planId: string; query: object },
  deps: ControlDeps,
): Promise<FastifyReply> {
  const { body, principal } = exchange.request;
  if (Object.values(query).some((value) => value !== undefined) || (body !== undefined && body !== null)) {
    throw new SimfleetError(
      "REQUEST_INVALID",
      "A plan already has rows and options: send planId alone, without a body",
    );
  }
  const by = actorOf(principal);
  return once(deps, exchange, {
    ...newRun(deps),
    make: (runId) =>
      deps.plans.use(planId, ({ order, from, source, report }) =>
        start(order, { from, source, planned: report.sha256, by, runId }, deps),
      ),
  });
}

async function start(
  order: Order,
  rows: { from: Origin; source: string; planned?: string; by: string; runId: string },
  deps: ControlDeps,
): Promise<RunReport> {
  const { app } = deps;
  const { profile, name = rows.source, options } = order;
  app.client(profile); // throws with what it lacks
  const plan = await planFor(order, rows.from, deps);
  if (rows.planned !== undefined && plan.source.sha256 !== rows.planned) {
    throw new SimfleetError("RUN_STATE", "The rows of the plan have changed since it was created: create a new plan");
  }
  const { source, by, runId } = rows;
  const bucket = app.bucketOf(profile);
  return app.runs.submit(plan, { ...{ name, profile, options, source }, ...{ bucket, by, runId } });
}

function addResults(api: Api, { app }: ControlDeps): void {
  api.get(
    "/runs/:runId/results",
    {
      config: { role: "viewer" },
      schema: {
        ...{ summary: "Download the results: every input row with its outcome", tags },
        params: ofRun,
        querystring: z.strictObject({
          outcome: several(z.enum(outcomes)),
          format: z.enum(["csv", "ndjson"]).default("csv").describe("ndjson keeps cells raw"),
        }),
        response: { 200: fileOfLines },
      },
    },
    async ({ params: { runId }, query: { outcome, format } }, reply) => {
      await app.runs.record(runId); // an error is told before the first line
      const type = format === "csv" ? "text/csv; charset=utf-8" : "application/x-ndjson";
      return reply
        .type(type)
        .header("content-disposition", `attachment; filename="${runId}.results.${format}"`)
        .send(Readable.from(app.runs.results(runId, { format, outcomes: asList(outcome) })));
    },
  );
}

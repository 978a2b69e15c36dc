/** Plans: what a run would do, before it does it. */
import { z } from "zod";
import { rowProblemCodes } from "#fleet/run.ts";
import type { RowVerdict } from "#jobs/runs/plan/classify.ts";
import type { PlanReport } from "#jobs/runs/plan/plan-report.ts";
import { reportOfPlan } from "#jobs/runs/plan/plan-report.ts";
import type { PlanRow } from "#jobs/runs/plan/plan-rows.ts";
import type { Api, ControlDeps } from "../deps.ts";
import { once } from "../once.ts";
import { type Order, orderOf, planFor, planQuery } from "../plans/order.ts";
import { actorOf } from "../auth/principal.ts";
import type { Reservation, StoredPlan } from "../plans/plan-store.ts";
import { count, id, instant, list, noBody, nothing, ofPage, pageOf, shapeOf } from "#contract/fields.ts";
import { type HandedOver, handedOver } from "../plans/upload.ts";

const verdicts = ["change", "unchanged", "unknown", "duplicate", "conflict", "invalid"] as const satisfies RowVerdict[];
const problem = { column: z.string(), code: z.enum(rowProblemCodes), message: z.string() } as const;

type PlanDocument = PlanReport & { readonly planId: string; readonly expiresAt: string };

const planReport = shapeOf<PlanDocument>()({
  planId: z.string(),
  expiresAt: instant,
  file: z.string().optional(),
  where: z.string().optional(),
  sha256: z.string(),
  rows: count,
  verdicts: z.record(z.enum(verdicts), count),
  calls: count,
  estimateSeconds: z.number().nullable(),
  problems: list(z.object({ line: count, ...problem })),
  problemsInAll: count,
  warnings: list(z.string()),
});

const planRow = shapeOf<PlanRow>()({
  line: count,
  key: z.string(),
  verdict: z.enum(verdicts),
  before: z.string().nullable(),
  after: z.string().nullable(),
  problem: z.object(problem).optional(),
});

const ofPlan = z.strictObject({ planId: id });

const tags = ["plans"];

export function planRoutes(api: Api, deps: ControlDeps): void {
  const { plans, app } = deps;
  addPlanning(api, deps);
  api.get(
    "/plans/:planId",
    {
      config: { role: "viewer" },
      schema: {
        ...{ summary: "Get a plan", tags },
        params: ofPlan,
        querystring: nothing,
        response: { 200: planReport },
      },
    },
    async ({ params }) => documentOf(await plans.get(params.planId)),
  );
  api.get(
    "/plans/:planId/rows",
    {
      config: { role: "viewer" },
      schema: {
        ...{ summary: "List the rows of a plan, in file order", tags },
        params: ofPlan,
        querystring: z.strictObject({ ...ofPage, verdict: z.enum(verdicts).optional() }),
        response: { 200: pageOf("rows", planRow) },
      },
    },
    async ({ params, query }) => {
      return plans.use(params.planId, ({ order, from }) =>
        plans.rows(params.planId, query, async () =>
          app.runs.planRows(await planFor(order, from, deps), order.profile),
        ),
      );
    },
  );
  api.delete(
    "/plans/:planId",
    {
      config: { role: "operator" },
      schema: {
        ...{ summary: "Delete a plan", tags },
        params: ofPlan,
        querystring: nothing,
        body: noBody,
        response: { 204: z.undefined() },
      },
    },
    async ({ params }, reply) => {
      await plans.remove(params.planId);
      return reply.code(204).send();
    },
  );
}

function addPlanning(api: Api, deps: ControlDeps): void {
  const { plans, spool } = deps;
  api.post(
    "/plans",
    {
      config: { role: "operator" },
      schema: {
        ...{ summary: "Create a plan from a CSV file or a filter", tags },
        description:
          "The body is the file (text/csv), a form with it in the field `file`, or JSON with `where` and `speedClass`.",
        consumes: ["text/csv", "multipart/form-data", "application/json"],
        querystring: planQuery,
        response: { 201: planReport },
      },
    },
    async (request, reply) => {
      const order = orderOf(request.query, deps);
      const name = plans.fileOf(plans.newPlanId());
      const reservation = await plans.reserve(actorOf(request.principal));
      try {
        const rows = await handedOver(request, { spool, name, reservation });
        return await once(
          deps,
          { request, reply },
          {
            ...{ status: 201, sha256: rows.sha256 },
            newRef: () => plans.newPlanId(),
            make: (planId) => makePlan(planId, { rows, order, reservation }, deps),
            find: (planId) => plans.get(planId).then(documentOf, () => undefined),
            locationOf: ({ planId }) => `/v1/plans/${planId}`,
          },
        );
      } finally {
        await spool.remove(spool.path(name)); // what was planned has been moved away
        reservation.release();
      }
    },
  );
}

async function makePlan(
  planId: string,
  { rows, order, reservation }: { rows: HandedOver; order: Order; reservation: Reservation },
  deps: ControlDeps,
): Promise<PlanDocument> {
  const { source, from } = rows;
  const asked = { ...order, speedClass: rows.speedClass ?? order.speedClass };
  const plan = await planFor(asked, from, deps);
  const report = { ...reportOfPlan(plan), ...("path" in from ? { file: source } : {}) };
  return documentOf(
    await deps.plans.put({ planId, by: reservation.by, order: asked, from, source, report }, reservation),
  );
}

function documentOf({ planId, expiresAtMs, report }: StoredPlan): PlanDocument {
  return { planId, expiresAt: new Date(expiresAtMs).toISOString(), ...report };
}

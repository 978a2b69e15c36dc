/** The rows of a plan, page by page. A command in its own process reads them as a file instead. */
import { type Endpoint, endpoint } from "#contract/route.ts";
import { listPlanRows } from "#jobs/runs/contract.ts";
import type { RunService } from "#jobs/runs/service.ts";
import type { SpooledPlans } from "./spooled-plans.ts";

export function planRowsEndpoint({ runs, plans }: { runs: RunService; plans: SpooledPlans }): Endpoint {
  return endpoint(listPlanRows, ({ params: { planId }, query }) =>
    plans.use(planId, ({ order, from }) =>
      plans.rows(planId, query, async () => runs.planRows(await runs.plan(from, order), order.profile)),
    ),
  );
}

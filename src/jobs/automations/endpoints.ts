/** What answers the routes of automations. */
import { type Endpoint, endpoint } from "#contract/route.ts";
import type { Clock } from "#core/time.ts";
import * as routes from "./contract.ts";
import type { DecisionReport } from "./contract.ts";
import type { AutomationService } from "./service.ts";

/** Decisions that one dry run shows; more are counted. */
const maxShown = 1_000;

export function automationEndpoints({
  automations,
  clock,
}: {
  readonly automations: AutomationService;
  readonly clock: Clock;
}): readonly Endpoint[] {
  return [
    endpoint(routes.listAutomations, async () => ({ automations: await automations.list(), nextCursor: null })),
    endpoint(routes.pauseAutomation, ({ params, by }) => automations.pause(params.name, by)),
    endpoint(routes.resumeAutomation, ({ params, by }) => automations.resume(params.name, by)),
    endpoint(routes.dryRunAutomation, async ({ params, query }) => {
      const decisions: DecisionReport[] = [];
      const counts: Record<string, number> = {};
      for await (const one of automations.dryRun(params.name, clock.wallMs() - query.hours * 3_600_000)) {
        counts[one.decision] = (counts[one.decision] ?? 0) + 1;
        if (decisions.length < maxShown) decisions.push(one);
      }
      return { decisions, counts };
    }),
  ];
}

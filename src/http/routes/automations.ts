/** Automations: tasks that are done when something happens. */
import { z } from "zod";
import type { AutomationReport, DecisionReport } from "#jobs/automations/service.ts";
import type { Api, ControlDeps } from "../deps.ts";
import { actorOf } from "../auth/principal.ts";
import { count, id, instant, list, noBody, nothing, pageOf, shapeOf } from "#contract/fields.ts";

const automationReport = shapeOf<AutomationReport>()({
  name: z.string(),
  profile: z.string(),
  on: list(z.string()),
  where: z.string(),
  job: z.string(),
  speedClass: z.string().nullable(),
  state: z.enum(["active", "paused", "stopped"]),
  reason: z.string().nullable(),
  done: count,
  unchanged: count,
  failed: count,
  lastEventAt: instant.nullable(),
  lastRef: z.string().nullable(),
  mostPerHour: count,
});

const decision = shapeOf<DecisionReport>()({
  event: z.string(),
  at: instant,
  type: z.string(),
  sim: z.string().nullable(),
  decision: z.enum(["act", "done", "condition", "unchanged", "gone", "loop"]),
});

const tags = ["automations"];
const ofAutomation = z.strictObject({ name: id });
/** Decisions that one dry run shows; more are counted. */
const mostShown = 1_000;

export function automationRoutes(api: Api, deps: ControlDeps): void {
  const { automations } = deps.app;
  api.get(
    "/automations",
    {
      config: { role: "viewer" },
      schema: {
        ...{ summary: "List automations: state, counts, last action", tags },
        ...{ querystring: nothing, response: { 200: pageOf("automations", automationReport) } },
      },
    },
    async () => ({ automations: await automations.list(), nextCursor: null }),
  );
  const steps = {
    pause: { summary: "Pause an automation", take: automations.pause.bind(automations) },
    resume: { summary: "Resume an automation for events from now on", take: automations.resume.bind(automations) },
  } as const;
  for (const [step, { summary, take }] of Object.entries(steps)) {
    const schema = { ...{ summary, tags }, params: ofAutomation, querystring: nothing, body: noBody };
    api.post(
      `/automations/:name/${step}`,
      { config: { role: "operator" }, schema: { ...schema, response: { 200: automationReport } } },
      async ({ params, principal }) => take(params.name, actorOf(principal)),
    );
  }
  addDryRun(api, deps);
}

function addDryRun(api: Api, { app, clock }: ControlDeps): void {
  api.post(
    "/automations/:name/dry-run",
    {
      config: { role: "operator" },
      schema: {
        ...{ summary: "Preview what an automation would do with the events of the last hours", tags },
        params: ofAutomation,
        querystring: z.strictObject({ hours: z.coerce.number().min(0.01).max(24).default(24) }),
        body: noBody,
        response: {
          200: z.object({
            decisions: list(decision).describe("oldest first, a thousand at most"),
            counts: z.record(z.string(), count).describe("all of them, by decision"),
          }),
        },
      },
    },
    async ({ params, query }) => {
      const decisions: DecisionReport[] = [];
      const counts: Record<string, number> = {};
      for await (const one of app.automations.dryRun(params.name, clock.wallMs() - query.hours * 3_600_000)) {
        counts[one.decision] = (counts[one.decision] ?? 0) + 1;
        if (decisions.length < mostShown) decisions.push(one);
      }
      return { decisions, counts };
    },
  );
}

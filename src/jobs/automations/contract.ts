/** The routes of automations. */
import { z } from "zod";
import { count, id, instant, list, listRoute } from "#contract/fields.ts";
import { postRoute } from "#contract/route.ts";

export const automationReport = z.object({
  name: z.string(),
  profile: z.string(),
  on: list(z.string()),
  where: z.string().describe("the condition as a filter; empty if there is none"),
  job: z.string(),
  operation: z.string().nullable().describe("what it does to SIMs; null if its task is not `apply`"),
  set: z.record(z.string(), z.string()).describe("the operation's inputs; secret ones are left out"),
  state: z.enum(["active", "paused", "stopped"]),
  reason: z.string().nullable().describe("why it is stopped"),
  done: count.describe("events that it acted on"),
  unchanged: count.describe("events that required no action"),
  failed: count.describe("events that it failed to act on"),
  lastEventAt: instant.nullable(),
  lastRef: z.string().nullable().describe("the run, sync or rotation that it started last"),
  maxPerHour: count,
});

export type AutomationReport = Readonly<z.infer<typeof automationReport>>;

export const listAutomations = listRoute(
  "automations",
  automationReport,
  "List automations: state, counts, last action",
);

function stepRoute(word: string, did: string, summary: string) {
  const params = z.strictObject({ name: id.meta({ example: "new-ones" }) });
  const ofOne = { tag: "automations", params, answer: automationReport } as const;
  return postRoute({ ...ofOne, path: `/automations/:name/${word}`, did, summary });
}

export const pauseAutomation = stepRoute("pause", "paused the automation", "Pause an automation");
export const resumeAutomation = stepRoute(
  "resume",
  "resumed the automation",
  "Resume an automation for events from now on",
);

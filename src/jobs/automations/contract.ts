/** The routes of automations. */
import { z } from "zod";
import { count, id, instant, list, pageOf } from "#contract/fields.ts";
import { getRoute, route } from "#contract/route.ts";

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

export const listAutomations = getRoute({
  path: "/automations",
  summary: "List automations: state, counts, last action",
  answer: pageOf("automations", automationReport),
});

const ofOne = { method: "POST", role: "operator", tag: "automations", params: z.strictObject({ name: id }) } as const;

export const pauseAutomation = route({
  ...ofOne,
  path: "/automations/:name/pause",
  did: "paused the automation",
  summary: "Pause an automation",
  answer: automationReport,
});

export const resumeAutomation = route({
  ...ofOne,
  path: "/automations/:name/resume",
  did: "resumed the automation",
  summary: "Resume an automation for events from now on",
  answer: automationReport,
});

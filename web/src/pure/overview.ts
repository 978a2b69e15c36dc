/** Contents of the overview: needed actions, failures, and next times. */
import { hrefOf, hrefOfCredential } from "./route.ts";
import type { AutomationReport, RotationReport, RunReport, ScheduleReport, WebhookReport } from "./shapes.ts";

/** Something that continues only when a user acts. */
interface WaitingThing {
  readonly href: string;
  /** `Webhook` */
  readonly kind: string;
  readonly name: string;
  readonly what: string;
  readonly reason?: string | null | undefined;
  /** State that the badge shows. */
  readonly state: string;
}

export function waitingThings(all: {
  readonly runs: readonly RunReport[];
  readonly rotations: readonly RotationReport[];
  readonly automations: readonly AutomationReport[];
  readonly webhooks: readonly WebhookReport[];
}): WaitingThing[] {
  const hooks = hrefOf("schedules", "webhooks");
  return [
    ...all.runs.map((run) => ({
      ...run,
      kind: "Run",
      href: hrefOf("runs", run.runId),
      name: run.name === "" ? run.runId : run.name,
      what: run.state === "paused" ? "paused" : "needs approval",
    })),
    ...all.rotations
      .filter(({ waitsFor }) => waitsFor === "confirmation")
      .map((one) => ({
        ...one,
        kind: "Rotation",
        href: hrefOfCredential("rotation", one.name),
        what: "needs confirmation",
        state: "awaiting-approval",
      })),
    ...all.automations
      .filter(({ state }) => state === "stopped")
      .map((one) => ({ ...one, kind: "Automation", href: hrefOf("schedules"), what: "stopped" })),
    ...all.webhooks
      .filter(({ state }) => state !== "active")
      .map((one) => ({ ...one, kind: "Webhook", href: hooks, what: one.state })),
  ];
}

const maxTimes = 6;

export function nextTimes(
  schedules: readonly ScheduleReport[],
): { readonly name: string; readonly job: string; readonly at: string }[] {
  return schedules
    .flatMap(({ name, job, next }) => next.slice(0, 1).map(({ at }) => ({ name, job, at })))
    .toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at))
    .slice(0, maxTimes);
}

const soonMs = 30 * 86_400_000;

/** Secrets that reach their greatest age within a month, the first first. */
export function dueSecrets(
  rotations: readonly RotationReport[],
  nowMs: number,
): { readonly name: string; readonly dueAt: string; readonly isOverdue: boolean }[] {
  return rotations
    .flatMap(({ name, dueAt }) => (dueAt === null ? [] : [{ name, dueAt, isOverdue: Date.parse(dueAt) <= nowMs }]))
    .filter(({ dueAt }) => Date.parse(dueAt) - nowMs < soonMs)
    .toSorted((a, b) => Date.parse(a.dueAt) - Date.parse(b.dueAt));
}

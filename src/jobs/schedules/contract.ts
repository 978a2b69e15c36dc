/** The routes of schedules. */
import { z } from "zod";
import { id, instant, list, pageOf } from "#contract/fields.ts";
import { getRoute, route } from "#contract/route.ts";
import { taskPreview } from "#jobs/tasks/contract.ts";

export const scheduleReport = z.object({
  name: z.string(),
  job: z.string(),
  operation: z.string().nullable().describe("what it does to SIMs; null if its task is not `apply`"),
  set: z.record(z.string(), z.string()).describe("the operation's inputs for all rows; secret ones are left out"),
  profile: z.string(),
  cron: z.string(),
  timezone: z.string(),
  state: z.enum(["active", "paused"]),
  reason: z.string().nullable().describe("why simfleet paused it; null if a user did"),
  failingSince: instant.nullable().describe("when the first failure ended; null after a success"),
  next: list(z.object({ at: instant, local: z.string() })).describe(
    "the next five times, without jitter; empty while the schedule is paused",
  ),
  running: z
    .object({
      execution: z.string(),
      startedAt: instant,
      ref: z.string().nullable(),
      fault: z.string().nullable().describe("why the task could not be started so far"),
    })
    .nullable()
    .describe("the task in progress"),
  isQueued: z.boolean().describe("whether another execution waits for the current one to end"),
  last: z
    .object({
      execution: z.string(),
      dueAt: instant,
      startedAt: instant,
      finishedAt: instant,
      seconds: z.number(),
      result: z.enum(["done", "failed", "skipped", "missed", "cancelled"]),
      reason: z.string().nullable(),
      ref: z.string().nullable().describe("ID of the run, sync or rotation"),
    })
    .nullable(),
  overlap: z.string(),
  missed: z.string().describe("`once`, `skip` or `within 15m`"),
  pauseAfterFailures: z.number().nullable(),
  frozen: z.string(),
  jitterSeconds: z.number(),
});

export type ScheduleReport = Readonly<z.infer<typeof scheduleReport>>;

export const listSchedules = getRoute({
  path: "/schedules",
  summary: "List schedules: next times, last result, task in progress",
  answer: pageOf("schedules", scheduleReport),
});

const ofOne = {
  role: "operator",
  tag: "schedules",
  params: z.strictObject({ name: id }),
  answer: scheduleReport,
} as const;

export const showSchedule = route({
  ...ofOne,
  method: "GET",
  path: "/schedules/:name",
  role: "viewer",
  summary: "Get a schedule",
});

export const pauseSchedule = route({
  ...ofOne,
  method: "POST",
  path: "/schedules/:name/pause",
  did: "paused the schedule",
  summary: "Pause a schedule",
});

export const resumeSchedule = route({
  ...ofOne,
  method: "POST",
  path: "/schedules/:name/resume",
  did: "resumed the schedule",
  summary: "Resume a schedule from its next time on",
});

export const triggerSchedule = route({
  ...ofOne,
  method: "POST",
  path: "/schedules/:name/trigger",
  did: "triggered the schedule",
  summary: "Run a schedule's task now",
  status: 202,
});

export const dryRunSchedule = route({
  ...ofOne,
  method: "POST",
  path: "/schedules/:name/dry-run",
  did: "previewed the schedule",
  summary: "Preview what a schedule's task would do now; nothing is started",
  answer: taskPreview,
});

/** The routes of schedules. */
import { z } from "zod";
import { id, instant, list, pageOf } from "#contract/fields.ts";
import { route } from "#contract/route.ts";

const ofSchedule = z.strictObject({ name: id });

export const scheduleReport = z.object({
  name: z.string(),
  job: z.string(),
  operation: z.string().nullable().describe("what it does to SIMs; null if its task is not `apply`"),
  set: z.record(z.string(), z.string()).describe("the operation's inputs for all rows; secret ones are left out"),
  profile: z.string(),
  cron: z.string(),
  timezone: z.string(),
  state: z.enum(["active", "paused"]),
  next: list(z.object({ at: instant, local: z.string() })).describe(
    "the next three times, without jitter; empty while the schedule is paused",
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
  missed: z.string(),
  frozen: z.string(),
  jitterSeconds: z.number(),
});

export type ScheduleReport = Readonly<z.infer<typeof scheduleReport>>;

export const listSchedules = route({
  method: "GET",
  path: "/schedules",
  role: "viewer",
  tag: "schedules",
  summary: "List schedules: next times, last result, task in progress",
  answer: pageOf("schedules", scheduleReport),
});

export const showSchedule = route({
  method: "GET",
  path: "/schedules/:name",
  role: "viewer",
  tag: "schedules",
  summary: "Get a schedule",
  params: ofSchedule,
  answer: scheduleReport,
});

export const pauseSchedule = route({
  method: "POST",
  path: "/schedules/:name/pause",
  role: "operator",
  tag: "schedules",
  summary: "Pause a schedule",
  params: ofSchedule,
  answer: scheduleReport,
});

export const resumeSchedule = route({
  method: "POST",
  path: "/schedules/:name/resume",
  role: "operator",
  tag: "schedules",
  summary: "Resume a schedule from its next time on",
  params: ofSchedule,
  answer: scheduleReport,
});

export const triggerSchedule = route({
  method: "POST",
  path: "/schedules/:name/trigger",
  role: "operator",
  tag: "schedules",
  summary: "Run a schedule's task now",
  params: ofSchedule,
  answer: scheduleReport,
  status: 202,
});

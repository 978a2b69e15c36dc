/** The routes of schedules. */
import { z } from "zod";
import { id, instant, list, listRoute } from "#contract/fields.ts";
import { getRoute, postRoute } from "#contract/route.ts";
import { planReport } from "#jobs/runs/contract.ts";

export const execution = z.object({
  execution: z.string(),
  startedAt: instant,
  ref: z.string().nullable(),
  fault: z.string().nullable().describe("why the task could not be started so far"),
});

export const lastExecution = z.object({
  execution: z.string(),
  dueAt: instant,
  startedAt: instant,
  finishedAt: instant,
  seconds: z.number(),
  result: z.enum(["done", "failed", "skipped", "missed", "cancelled"]),
  reason: z.string().nullable(),
  ref: z.string().nullable().describe("ID of the run, sync or rotation"),
});

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
  running: execution.nullable().describe("the task in progress"),
  isQueued: z.boolean().describe("whether another execution waits for the current one to end"),
  last: lastExecution.nullable(),
  overlap: z.string(),
  missed: z.string().describe("`once`, `skip` or `within 15m`"),
  pauseAfterFailures: z.number().nullable(),
  frozen: z.string(),
  jitterSeconds: z.number(),
});

const taskPreview = z.object({
  does: z.string().describe("what the task would do, in words"),
  plan: planReport.nullable().describe("the plan of its run; null for tasks other than `apply`, and if no SIM matches"),
});

export type ScheduleReport = Readonly<z.infer<typeof scheduleReport>>;

export const listSchedules = listRoute(
  "schedules",
  scheduleReport,
  "List schedules: next times, last result, task in progress",
);

const params = z.strictObject({ name: id.meta({ example: "nightly" }) });
const ofOne = { tag: "schedules", params, answer: scheduleReport } as const;

export const showSchedule = getRoute({ ...ofOne, path: "/schedules/:name", summary: "Get a schedule" });

function stepRoute(word: string, did: string, summary: string) {
  return postRoute({ ...ofOne, path: `/schedules/:name/${word}`, did, summary });
}

export const pauseSchedule = stepRoute("pause", "paused the schedule", "Pause a schedule");
export const resumeSchedule = stepRoute("resume", "resumed the schedule", "Resume a schedule from its next time on");
export const triggerSchedule = {
  ...stepRoute("trigger", "triggered the schedule", "Run a schedule's task now"),
  status: 202,
} as const;
export const dryRunSchedule = {
  ...stepRoute("dry-run", "previewed the schedule", "Preview what a schedule's task would do now; nothing is started"),
  answer: taskPreview,
};

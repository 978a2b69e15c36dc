/** The events of schedules. */
import type { Events } from "#events/event.ts";

const ofExecution = {
  schedule: "its name",
  execution: "ID of the execution",
  job: "its task, such as `sync`",
  due: "when it was due, ISO 8601",
} as const;

export const events = {
  "schedule.started": {
    when: "A schedule started its task, because it was due or triggered.",
    sentence: "The schedule {schedule} started[ {cause}][, triggered by {by}]",
    fields: {
      ...ofExecution,
      cause: "the run, sync or rotation that it started",
      by: "who requested it; absent when it was due",
    },
  },
  "schedule.completed": {
    when: "The task of a schedule succeeded.",
    sentence: "The schedule {schedule} succeeded[ with {cause}][: {reason}]",
    fields: {
      ...ofExecution,
      cause: "the run, sync or rotation",
      seconds: "how long it took",
      reason: "details",
    },
  },
  "schedule.failed": {
    when: "The task of a schedule failed in whole or in part, or could not be started.",
    sentence: "The schedule {schedule} failed[ with {cause}][: {reason}]",
    needsAttention: true,
    fields: { ...ofExecution, cause: "the run, sync or rotation, if it was started", reason: "why" },
  },
  "schedule.cancelled": {
    when: "The task of a schedule was cancelled, by a user or because the next time was due.",
    sentence: "The task of the schedule {schedule} was cancelled[: {reason}]",
    fields: { ...ofExecution, cause: "the run, sync or rotation", reason: "why" },
  },
  "schedule.skipped": {
    when: "A due time of a schedule was skipped: the previous task is still active, or changes are frozen.",
    sentence: "The schedule {schedule} was skipped once[: {reason}]",
    fields: { ...ofExecution, reason: "why" },
  },
  "schedule.missed": {
    when: "Times of a schedule passed while no worker was running, or its task could not start within its window.",
    sentence: "The schedule {schedule} did not run in time (missed: {times})[: {reason}]",
    needsAttention: true,
    fields: {
      schedule: "its name",
      job: "its task, such as `sync`",
      due: "the first of them, ISO 8601",
      times: "how many; `1000` means 1000 or more",
      madeUp: "`yes`: the task runs once now, `no`: they are skipped",
      reason: "why",
    },
  },
  "schedule.failing": {
    when: "The task of a schedule failed after it last succeeded: emitted once per incident. Further failures emit only `schedule.failed`.",
    sentence: "The schedule {schedule} is failing[: {reason}]",
    fields: { ...ofExecution, cause: "the run, sync or rotation, if it was started", reason: "why" },
  },
  "schedule.recovered": {
    when: "The task of a schedule succeeded after failures: once per incident.",
    sentence: "The schedule {schedule} recovered; it had failed since {since}",
    fields: {
      ...ofExecution,
      cause: "the run, sync or rotation",
      since: "when the first failure ended, ISO 8601",
    },
  },
  "schedule.paused": {
    when: "A schedule was paused: by a user, because of `pauseAfterFailures`, or because three workers crashed while processing it.",
    sentence: "The schedule {schedule} was paused[ by {by}][: {reason}]",
    fields: { schedule: "its name", by: "who", reason: "why; absent if a user did it" },
  },
  "schedule.resumed": {
    when: "A user resumed a schedule.",
    sentence: "The schedule {schedule} was resumed[ by {by}]",
    fields: { schedule: "its name", by: "who" },
  },
} as const satisfies Events;

export const eventKinds = { schedule: "Schedules" } as const;

declare module "#events/event.ts" {
  interface EventTypes extends Readonly<Record<keyof typeof events, true>> {}
}

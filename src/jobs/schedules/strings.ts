/** The texts of the commands of schedules. */
import { duration } from "#cli/format.ts";

export const schedulesSummary = "scheduled tasks: next times and last results";

/** The commands `simfleet schedules …`. */
export const schedulesStrings = {
  schedule: "name of the schedule",
  list: "list schedules: next times, last result, task in progress",
  none: "No schedules. Add them under `schedules` in the configuration (docs/schedules.md).",
  headings: { schedule: "schedule" },
  trigger: "run a schedule's task now",
  triggered: "Triggered; a worker is starting it.",
  pause: "pause a schedule",
  paused: "Paused; a task in progress continues.",
  resume: "resume a schedule; it starts at its next time",
  resumed: "Resumed.",
  noWorker: "No worker is running: schedules need one (simfleet worker).",
  retrying: (fault: string) => `retrying: ${fault}`,
  starting: "starting",
  oneMoreQueued: (ref: string) => `${ref}, one more queued`,
  took: (result: string, ms: number) => `${result} in ${duration(ms)}`,
  last: (result: string, at: string, reason: string | null) =>
    `${result} at ${at}${reason === null ? "" : `: ${reason}`}`,
} as const;

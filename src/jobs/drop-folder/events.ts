/** The events of the drop folder. */
import type { Events } from "#events/event.ts";

const ofFile = { file: "its name", run: "ID reserved for its run, even if no run was created" } as const;

export const events = {
  "file.taken": {
    when: "A file was picked up from the drop folder.",
    sentence: "The file {file} was picked up[ as {run}]",
    fields: ofFile,
  },
  "file.done": {
    when: "Every row of a file of the drop folder is done or skipped; its results are in `done/`.",
    sentence: "The file {file} is done[ with {run}]",
    fields: { ...ofFile, state: "the run's state" },
  },
  "file.failed": {
    when: "The run of a file of the drop folder ended, and not all its rows are done; its results are in `failed/`.",
    sentence: "Not all rows of the file {file} are done[, with {run}][: {reason}]",
    needsAttention: true,
    fields: { ...ofFile, state: "the run's state", reason: "why" },
  },
  "file.rejected": {
    when: "A file of the drop folder was rejected; it is in `failed/`.",
    sentence: "The file {file} was rejected[: {reason}]",
    needsAttention: true,
    fields: { ...ofFile, reason: "why" },
  },
} as const satisfies Events;

export const eventKinds = { file: "Files" } as const;

declare module "#events/event.ts" {
  interface EventTypes extends Readonly<Record<keyof typeof events, true>> {}
}

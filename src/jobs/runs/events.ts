/** The events of runs. */
import type { Events } from "#events/event.ts";

const ofRun = {
  run: "the run",
  name: "its name",
  state: "its state now",
  total: "total number of rows",
  done: "rows done",
  skipped: "rows skipped",
  rejected: "rows rejected",
  failed: "rows that failed",
  unknown: "rows sent once, whose response was lost and which are not sent again",
  cancelled: "rows without an outcome when the run was cancelled or aborted",
  pending: "rows without an outcome",
  reason: "why, if known",
} as const;
const ofRunWithActor = { ...ofRun, by: "who did it, if known" } as const;

export const events = {
  "run.submitted": {
    when: "A run was submitted; its rows will be processed.",
    sentence: "Run {run}[ “{name}”] was submitted[ by {by}] (rows: {total})",
    fields: ofRunWithActor,
  },
  "run.awaiting-approval": {
    when: "A submitted run waits for approval by someone else: because of its size, because its operation is dangerous, or because it could not be confirmed.",
    sentence: "Run {run}[ “{name}”] (rows: {total}) is waiting for approval[: {reason}]",
    advice: "Approve it with: simfleet runs approve {run}",
    fields: ofRunWithActor,
  },
  "run.approved": {
    when: "A user approved a run, and it starts.",
    sentence: "Run {run}[ “{name}”] was approved[ by {by}]",
    fields: ofRunWithActor,
  },
  "run.paused": {
    when: "A run was paused, or a wave did not meet its gate; calls in flight are completed.",
    sentence: "Run {run}[ “{name}”] was paused[ by {by}][: {reason}]",
    advice: "Resume it with: simfleet runs resume {run}",
    fields: ofRunWithActor,
  },
  "run.resumed": {
    when: "A paused run was resumed.",
    sentence: "Run {run}[ “{name}”] was resumed[ by {by}]",
    fields: ofRunWithActor,
  },
  "run.stalled": {
    when: "A running run has made no progress for 10 s or more because the platform returns no usable response; a quota that is used up does not count.",
    sentence: "Run {run}[ “{name}”] is not making progress[: {reason}]",
    advice: "simfleet retries automatically.",
    needsAttention: true,
    fields: ofRun,
  },
  "run.row-quarantined": {
    when: "A row killed three workers while each processed it alone: it ends as failed or unknown, and the other rows continue.",
    sentence: "A row of run {run}[ “{name}”] was quarantined[: {reason}]",
    advice: "The other rows continue.",
    needsAttention: true,
    fields: ofRun,
  },
  "run.recovered": {
    when: "A stalled run received a usable response again.",
    sentence: "Run {run}[ “{name}”] is making progress again",
    fields: ofRun,
  },
  "run.completed": {
    when: "Every row of a run has its outcome.",
    sentence:
      "Run {run}[ “{name}”] completed: {done} of {total} rows done[, {failed+} failed][, {rejected+} rejected][, {unknown+} unknown][, {skipped+} skipped]",
    fields: ofRun,
  },
  "run.aborted": {
    when: "A run stopped itself: too many of its rows failed, or a row of a wave without a gate. Calls in flight at that time still complete with their outcomes.",
    sentence: "Run {run}[ “{name}”] was aborted[: {reason}]",
    needsAttention: true,
    fields: ofRun,
  },
  "run.cancelled": {
    when: "A run was cancelled before all its rows had an outcome. Calls in flight at that time still complete with theirs.",
    sentence: "Run {run}[ “{name}”] was cancelled[ by {by}][: {reason}]",
    fields: ofRunWithActor,
  },
} as const satisfies Events;

/** The kinds of these events, as titles. */
export const eventKinds = { run: "Runs" } as const;

declare module "#events/event.ts" {
  interface EventTypes extends Readonly<Record<keyof typeof events, true>> {}
}

/** The events of automations. */
import type { Events } from "#events/event.ts";

export const events = {
  "automation.started": {
    when: "An automation acted on events.",
    sentence: "The automation {automation} acted[ with {cause}] (events: {events})",
    fields: {
      automation: "its name",
      on: "type of the first event",
      event: "ID of the first event",
      events: "how many events it acts on together",
      job: "its task, such as `sync`",
      cause: "the run, sync or rotation that it started",
    },
  },
  "automation.failed": {
    when: "An automation could not act on events, and a retry would not help.",
    sentence: "The automation {automation} failed[: {reason}]",
    needsAttention: true,
    fields: {
      automation: "its name",
      on: "type of the first event",
      event: "ID of the first event",
      events: "how many",
      job: "its task, such as `sync`",
      reason: "why",
    },
  },
  "automation.stopped": {
    when: "An automation stopped itself: its own changes trigger it, it would exceed its limit of events per hour, or three workers crashed while processing its events.",
    sentence: "The automation {automation} stopped itself[: {reason}]",
    needsAttention: true,
    fields: { automation: "its name", event: "ID of the event that it stopped at", reason: "why" },
  },
  "automation.paused": {
    when: "A user paused an automation.",
    sentence: "The automation {automation} was paused[ by {by}]",
    fields: { automation: "its name", by: "who" },
  },
  "automation.resumed": {
    when: "A user resumed an automation that was paused or had stopped itself.",
    sentence: "The automation {automation} was resumed[ by {by}]",
    fields: { automation: "its name", by: "who" },
  },
} as const satisfies Events;

export const eventKinds = { automation: "Automations" } as const;

declare module "#events/event.ts" {
  interface EventTypes extends Readonly<Record<keyof typeof events, true>> {}
}

/** The texts of the commands of automations. */
import { grouped } from "#cli/format.ts";

export const automationsSummary = "event-triggered tasks";

/** The commands `simfleet automations …`. */
export const automationsStrings = {
  automation: "name of the automation",
  list: "list automations: trigger, task, counts and state",
  none: "No automations. Add them under `automations` in the configuration (docs/automations.md).",
  headings: { automation: "automation", last: "last" },
  decisionHeadings: ["AT", "EVENT", "SIM", "DECISION"],
  pause: "pause an automation",
  resume: "resume an automation that was paused or stopped itself",
  replay: "process recent events that the automation missed, each once",
  since:
    "how far back, at most 24 hours (the default): an age such as 90m, 24h or 7d, or a date or time such as 2026-11-20 or 2026-11-20T08:00, in local time unless it has an offset",
  dryRun: "only print what would be done, event by event",
  question: (since: string, name: string) => `Process the events since ${since} that ${name} missed?`,
  processed: (events: number) => `${grouped(events)} events were processed.`,
  wouldAct: (events: number, acted: number) =>
    `${grouped(events)} matching events; it would act on ${grouped(acted)}. Nothing was done.`,
  noEvents: "No matching events.",
  decisions: {
    act: "would act",
    done: "already processed",
    condition: "does not match the filter",
    unchanged: "already has the class",
    gone: "no longer in the inventory",
    loop: "would stop: the event was caused by its own change",
  },
} as const;

/** The events of SIMs and syncs. */
import type { Events } from "#events/event.ts";

export const events = {
  "sim.added": {
    when: "A sync found a new SIM. The first sync of a profile emits none.",
    sentence: "{sim} is new",
    fields: { sim: "its key", cause: "the sync, or the run whose response showed it", by: "`external` or `run`" },
  },
  "sim.changed": {
    when: "A field of a SIM has a new value: one event per field.",
    sentence: "{field} of {sim} changed[ from {before}][ to {after}]",
    fields: {
      sim: "its key",
      field: "name of the field, `tags.site` for a member",
      before: "value before; absent where there was none",
      after: "value now; absent where there is none",
      by: "`run` if a run of simfleet changed it, `external` for everything else",
      cause: "the run, or the sync that saw it",
    },
  },
  "sim.gone": {
    when: "A complete sync no longer lists the SIM.",
    sentence: "{sim} is no longer listed",
    fields: { sim: "its key", cause: "the sync", by: "`external`" },
  },
  "sim.returned": {
    when: "A SIM that was marked as gone is listed again.",
    sentence: "{sim} is listed again",
    fields: { sim: "its key", cause: "the sync, or the run whose response showed it", by: "`external` or `run`" },
  },
  "sync.completed": {
    when: "A sync has read the whole list and marked the SIMs that are gone.",
    sentence: "A sync read {sims} SIMs: {added} new, {changed} changed, {gone} gone",
    fields: {
      cause: "the sync",
      sims: "SIMs listed",
      added: "new SIMs",
      changed: "SIMs with a changed field",
      returned: "SIMs that were gone before",
      gone: "SIMs no longer listed",
    },
  },
  "sync.failed": {
    when: "A sync ended before it had read the whole list; the next one starts over.",
    sentence: "A sync failed[: {reason}]",
    needsAttention: true,
    fields: { cause: "the sync", reason: "why" },
  },
} as const satisfies Events;

export const eventKinds = { sim: "SIM changes", sync: "Syncs" } as const;

declare module "#events/event.ts" {
  interface EventTypes extends Readonly<Record<keyof typeof events, true>> {}
}

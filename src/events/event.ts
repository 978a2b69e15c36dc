/**
 * The catalogue of events: what can happen, which fields tell of it, and when it is told. An event is written in the same
 * step as the change that it tells of, so that neither is ever there without the other.
 */

export const eventCatalogue = {
  "sim.added": {
    when: "A sync lists a SIM that was not known. The first sync of a profile tells of none: what it finds was there before.",
    fields: { sim: "its key", cause: "the sync, or the run whose answer showed it", by: "`outside` or `run`" },
  },
  "sim.changed": {
    when: "A field of a SIM is seen with another value: one event for each field.",
    fields: {
      sim: "its key",
      field: "name of the field, `tags.site` for a member",
      before: "value before; absent where there was none",
      after: "value now; absent where there is none",
      by: "`run` for what one of our runs changed, `outside` for everything else",
      cause: "the run, or the sync that saw it",
    },
  },
  "sim.gone": {
    when: "A sync has read the whole list and the SIM is no longer in it.",
    fields: { sim: "its key", cause: "the sync", by: "`outside`" },
  },
  "sim.returned": {
    when: "A SIM that was gone is listed again.",
    fields: { sim: "its key", cause: "the sync, or the run whose answer showed it", by: "`outside` or `run`" },
  },
  "sync.completed": {
    when: "A sync has read the whole list, and what is gone is marked.",
    fields: {
      cause: "the sync",
      sims: "SIMs listed",
      added: "of them not known before",
      changed: "of them with a changed field",
      returned: "of them that were gone",
      gone: "SIMs no longer listed",
    },
  },
  "sync.failed": {
    when: "A sync ended without having read the whole list, and the next begins anew.",
    fields: { cause: "the sync", reason: "why" },
  },
} as const satisfies Record<string, { readonly when: string; readonly fields: Readonly<Record<string, string>> }>;

export type EventType = keyof typeof eventCatalogue;

export const eventTypes = Object.keys(eventCatalogue) as EventType[];

/** Something that happened. */
export interface Event {
  /** Grows from event to event, and names one for good: a consumer that saw it before sees a repeat. */
  readonly id: string;
  readonly type: EventType;
  readonly atMs: number;
  readonly profile: string;
  /** The fields of the catalogue, each as text. */
  readonly fields: Readonly<Record<string, string>>;
}

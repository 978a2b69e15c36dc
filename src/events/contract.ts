/** The route of events. */
import { z } from "zod";
import {
  count,
  entryCursor,
  id,
  instant,
  list,
  ofPage,
  ofProfile,
  pageOf,
  several,
  since,
  until,
} from "#contract/fields.ts";
import { getRoute } from "#contract/route.ts";
import { type Event, eventTypes, typesMeantBy } from "./event.ts";

// Strings, not enums: features add types, and a worker of another version may have stored one that is unknown here.
const type = z.string().meta({ enum: eventTypes });
const knownType = z
  .string()
  .refine((pattern) => typesMeantBy(pattern).length > 0, {
    error: "is no type of event (docs/reference/events.md lists them)",
  })
  .describe("a type, or a pattern such as run.*");

/** An event in lists, streams and deliveries. */
export const eventDocument = z.object({
  id: z.string(),
  type,
  at: instant,
  profile: z.string().describe("empty if the event concerns every profile"),
  fields: z.record(z.string(), z.string()),
});

export type EventDocument = Readonly<z.infer<typeof eventDocument>>;

export function documentOfEvent({ atMs, ...event }: Event): EventDocument {
  const { id: eventId, type: of, profile, fields } = event;
  return { id: eventId, type: of, at: new Date(atMs).toISOString(), profile, fields };
}

export const listEvents = getRoute({
  path: "/events",
  summary: "List events, newest first; of all profiles unless one is given",
  description:
    "With `Accept: text/event-stream` events are streamed as they happen; `Last-Event-ID` continues after an event, `since` after a time. A stream has no pages.",
  query: z.strictObject({
    ...ofProfile,
    ...ofPage,
    cursor: entryCursor,
    since,
    until,
    type: several(knownType).meta({ example: "run.completed" }),
    by: id.optional().describe("who did it, as in the events: `token:anna`"),
    cause: id.optional().describe("the run, sync or rotation that caused it"),
  }),
  answer: pageOf("events", eventDocument),
});

const newest = list(eventDocument).describe("at most 50, newest first");

/** Summary since a time. Runs, schedules and rotations are counted when they end. */
export const summary = z.object({
  since: instant,
  until: instant.describe("time of the answer"),
  complete: z.boolean().describe("false: there are too many events to read all, and the oldest are not counted"),
  runs: z.object({
    completed: count.describe("every row done or skipped"),
    notDone: count.describe("completed, and some rows are rejected, failed or unknown"),
    aborted: count,
    cancelled: count,
    rows: z
      .object({ done: count, skipped: count, rejected: count, failed: count, unknown: count, cancelled: count })
      .describe("of all these runs"),
    events: newest,
  }),
  schedules: z.object({
    completed: count,
    failed: count,
    late: count.describe("started more than a minute after their time"),
    skipped: count.describe("times that were skipped"),
    missed: count.describe("times that passed while no worker was running"),
    cancelled: count,
    events: newest.describe("all but `schedule.completed`; at most 50, newest first"),
  }),
  rotations: z.object({
    rotated: count,
    failed: count,
    waiting: count.describe("asked for a confirmation"),
    events: newest,
  }),
  problems: z.object({ count, events: newest.describe("other events that need attention") }),
  externalChanges: z
    .object({ added: count, changed: count.describe("fields"), gone: count, returned: count })
    .describe("changes of SIMs that syncs saw and no run made"),
  calls: z
    .object({ calls: count, throttled: count.describe("calls among them that returned 429") })
    .describe("of all quotas, in windows that had not ended then; windows are kept for about two days"),
});

export type Summary = Readonly<z.infer<typeof summary>>;

export const showSummary = getRoute({
  path: "/summary",
  tag: "events",
  summary: "Summarize what happened since a time: runs, schedules, rotations, problems, external changes, calls",
  query: z.strictObject({ ...ofProfile, since: since.default("12h") }),
  answer: summary,
});

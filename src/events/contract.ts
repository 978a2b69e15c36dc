/** The route of events. */
import { z } from "zod";
import { entryCursor, id, instant, ofPage, ofProfile, pageOf, several, since, until } from "#contract/fields.ts";
import { route } from "#contract/route.ts";
import { type Event, eventTypes, typesMeantBy } from "./event.ts";

// Strings, not enums: features add types, and an older version may have stored one that no longer exists.
const type = z.string().meta({ enum: eventTypes });
const knownType = z
  .string()
  .refine((pattern) => typesMeantBy(pattern).length > 0, { error: "is no type of event (docs/events.md lists them)" })
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

export const listEvents = route({
  method: "GET",
  path: "/events",
  role: "viewer",
  tag: "events",
  summary: "List events, newest first; of all profiles unless one is given",
  description:
    "With `Accept: text/event-stream` events are streamed as they happen; `Last-Event-ID` continues after an event, `since` after a time. A stream has no pages.",
  query: z.strictObject({
    ...ofProfile,
    ...ofPage,
    cursor: entryCursor,
    since,
    until,
    type: several(knownType),
    by: id.optional().describe("who did it, as in the events: `token:anna`"),
    cause: id.optional().describe("the run, sync or rotation that caused it"),
  }),
  answer: pageOf("events", eventDocument),
});

/** What answers the route of events, as a list; the server adds the stream. */
import { parseInstant } from "#core/ago.ts";
import { asList, cursorBefore } from "#contract/fields.ts";
import { type Endpoint, endpoint } from "#contract/route.ts";
import { documentOfEvent, listEvents } from "./contract.ts";
import { typesMeantBy } from "./event.ts";
import type { Feed } from "./feed.ts";

/** @param profileOf checks the name of a profile. @throws SimfleetError NOT_FOUND */
export function eventEndpoints(feed: Feed, profileOf: (named: string) => string): readonly Endpoint[] {
  return [
    endpoint(listEvents, async ({ query: { profile: named, type, since, until, by, cause, limit, cursor } }) => {
      const profile = named === undefined ? undefined : profileOf(named);
      const sinceMs = parseInstant(since);
      const query = { types: asList(type)?.flatMap(typesMeantBy), profile, sinceMs, fields: { by, cause } };
      const { events, nextCursor } = await feed.newest(query, { limit, cursor: cursor ?? cursorBefore(until) });
      return { events: events.map(documentOfEvent), nextCursor };
    }),
  ];
}

/** What answers the routes of events, as a list and as a summary; the server adds the stream. */
import { parseInstant } from "#core/ago.ts";
import { asList, cursorBefore } from "#contract/fields.ts";
import { type Endpoint, endpoint } from "#contract/route.ts";
import { type Summary, documentOfEvent, listEvents, showSummary } from "./contract.ts";
import { typesMeantBy } from "./event.ts";
import type { Feed } from "./feed.ts";
import { summarize } from "./summary.ts";

/**
 * @param profileOf checks the name of a profile. @throws SimfleetError NOT_FOUND
 * @param callsSince the calls of all quotas since a time
 */
export function eventEndpoints(
  feed: Feed,
  profileOf: (named: string) => string,
  callsSince: (sinceMs: number) => Promise<Summary["calls"]>,
): readonly Endpoint[] {
  return [
    endpoint(listEvents, async ({ query: { profile: named, type, since, until, by, cause, limit, cursor } }) => {
      const profile = named === undefined ? undefined : profileOf(named);
      const sinceMs = parseInstant(since);
      const query = { types: asList(type)?.flatMap(typesMeantBy), profile, sinceMs, fields: { by, cause } };
      const { events, nextCursor } = await feed.newest(query, { limit, cursor: cursor ?? cursorBefore(until) });
      return { events: events.map(documentOfEvent), nextCursor };
    }),
    endpoint(showSummary, async ({ query: { profile: named, since } }) => {
      const profile = named === undefined ? undefined : profileOf(named);
      const sinceMs = parseInstant(since) ?? 0;
      return { ...(await summarize(feed, { profile, sinceMs })), calls: await callsSince(sinceMs) };
    }),
  ];
}

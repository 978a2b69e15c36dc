/** Endpoints of events: the list and the summary. The server adds the stream. */
import { parseInstant } from "#core/ago.ts";
import { asList, cursorBefore } from "#contract/fields.ts";
import { type Endpoint, endpoint } from "#contract/route.ts";
import { type Summary, documentOfEvent, listEvents, showSummary, type EventDocument } from "./contract.ts";
import { typesMeantBy, type Event, factsOfEvent } from "./event.ts";
import type { Feed, EventQuery } from "./feed.ts";
import { systemClock } from "#core/time.ts";

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

// What happened since a time: counts, and the events behind them. It reads the feed, the newest event first.

const readAtOnce = 1_000;
const maxRead = 200_000;
const maxShown = 50;
const lateMs = 60_000;

/** A section of the summary, and what is counted in it. */
const places: Readonly<Partial<Record<string, string>>> = {
  "run.completed": "runs completed",
  "run.aborted": "runs aborted",
  "run.cancelled": "runs cancelled",
  "schedule.completed": "schedules completed",
  "schedule.failed": "schedules failed",
  "schedule.skipped": "schedules skipped",
  "schedule.missed": "schedules missed",
  "schedule.cancelled": "schedules cancelled",
  "credential.rotated": "rotations rotated",
  "authkey.rotated": "rotations rotated",
  "credential.failed": "rotations failed",
  "authkey.failed": "rotations failed",
  "credential.quarantined": "rotations failed",
  "authkey.quarantined": "rotations failed",
  "credential.unconfirmed": "rotations waiting",
  "sim.added": "changes added",
  "sim.changed": "changes changed",
  "sim.gone": "changes gone",
  "sim.returned": "changes returned",
};

function findPlace({ type, atMs, fields }: Event): string | undefined {
  if (type.startsWith("sim.") && fields["by"] === "run") return undefined;
  if (type === "schedule.started" && fields["by"] === undefined) {
    return atMs - Date.parse(fields["due"] ?? "") > lateMs ? "schedules late" : undefined;
  }
  const { rejected = 0, failed = 0, unknown = 0 } = fields;
  if (type === "run.completed" && Number(rejected) + Number(failed) + Number(unknown) > 0) return "runs notDone";
  return places[type] ?? (factsOfEvent(type)?.needsAttention === true ? "problems" : undefined);
}

/** Summarizes the events since a time; 200,000 of them at most. */
export async function summarize(
  feed: Pick<Feed, "newest">,
  query: Pick<EventQuery, "profile"> & { readonly sinceMs: number },
): Promise<Omit<Summary, "calls">> {
  const counts = new Map<string, number>();
  const shown = new Map<string, EventDocument[]>();
  const add = (what: string, many = 1): unknown => counts.set(what, (counts.get(what) ?? 0) + many);
  const take = (event: Event): void => {
    const place = findPlace(event);
    if (place === undefined) return;
    add(place);
    const [section = ""] = place.split(" ");
    if (section === "runs")
      for (const [name, value] of Object.entries(event.fields)) add(`rows ${name}`, Number(value));
    const events = shown.get(section) ?? [];
    if (events.length < maxShown && place !== "schedules completed") events.push(documentOfEvent(event));
    shown.set(section, events);
  };

  const until = new Date(systemClock.wallMs()).toISOString();
  let cursor: string | undefined;
  for (let read = 0; read < maxRead; read += readAtOnce) {
    const page = await feed.newest(query, { limit: readAtOnce, cursor });
    for (const event of page.events) take(event);
    cursor = page.nextCursor ?? undefined;
    if (cursor === undefined) break;
  }

  const sum = <Name extends string>(section: string, names: readonly Name[]): Record<Name, number> =>
    Object.fromEntries(names.map((name) => [name, counts.get(`${section} ${name}`) ?? 0])) as Record<Name, number>;
  const events = (section: string): EventDocument[] => shown.get(section) ?? [];
  return {
    since: new Date(query.sinceMs).toISOString(),
    until,
    complete: cursor === undefined,
    runs: {
      ...sum("runs", ["completed", "notDone", "aborted", "cancelled"]),
      rows: sum("rows", ["done", "skipped", "rejected", "failed", "unknown", "cancelled"]),
      events: events("runs"),
    },
    schedules: {
      ...sum("schedules", ["completed", "failed", "late", "skipped", "missed", "cancelled"]),
      events: events("schedules"),
    },
    rotations: { ...sum("rotations", ["rotated", "failed", "waiting"]), events: events("rotations") },
    problems: { count: counts.get("problems") ?? 0, events: events("problems") },
    externalChanges: sum("changes", ["added", "changed", "gone", "returned"]),
  };
}

/** `simfleet events`: the feed, oldest first, and with `--follow` what happens from there on. */
import { Command, InvalidArgumentError } from "@commander-js/extra-typings";
import { suggestion } from "#core/suggest.ts";
import { visible } from "#core/visible-text.ts";
import { type EventDocument, listEvents } from "../contract.ts";
import { knownPatterns, typesMeantBy } from "../event.ts";
import { beforeAll, idBefore, placeOf } from "../feed.ts";
import { type Caller, type Context, type EventChoice, asCount, withCaller } from "#cli/context.ts";
import { asInstant, timeForms } from "#cli/values.ts";
import type { Client } from "#contract/client.ts";
import { withLocalTimes } from "#cli/format.ts";
import { oneDocument } from "#cli/list.ts";

export function eventsCommand(context: Context): Command {
  const command = new Command("events")
    .description("Print events, oldest first")
    .option("--since <time>", `start after this event ID, or at ${timeForms}`, asPlace)
    .option("--type <type>", "only events of this type, such as run.completed or run.*; repeatable", asTypes)
    .option("-n, --limit <n>", "without --since: number of most recent events", asCount, 20)
    .option("-f, --follow", "print new events until Ctrl-C; with --json one document per line (NDJSON)");
  const example = "simfleet events --since 1h --type run.* --type sync.failed --follow";
  return withCaller(context, command, example, async (caller, options) => {
    const { output } = caller;
    const { type, profile, since, limit, follow: isFollowing = false } = options;
    const events = readEvents(caller, { type, profile }, { since, limit, isFollowing });
    const lines = toLines(events, output.isJson ? "json" : "text");
    const isDocument = output.isJson && !isFollowing;
    for await (const text of isDocument ? oneDocument("events", lines) : lines) await output.stream(text);
  });
}

async function* readEvents(
  { client, follow, output }: Caller,
  choice: EventChoice,
  { since, limit, isFollowing }: { since: string | undefined; limit: number; isFollowing: boolean },
): AsyncGenerator<readonly EventDocument[]> {
  // Of any type: also where none matches, what comes later has a place to start from.
  const headId = (await client.call(listEvents, { query: { limit: 1 } })).events[0]?.id ?? beforeAll;
  let from = since ?? headId;
  if (since === undefined) {
    const newest = await readNewest(client, choice, limit);
    yield newest.toReversed();
    if (newest[0] !== undefined && isAfter(newest[0].id, from)) from = newest[0].id;
  } else if (!isFollowing) yield* eventsUntilNow({ client, follow }, choice, since);
  if (isFollowing) yield* follow(choice, from, (text) => output.say(text));
}

/** @throws Error if Ctrl-C comes before the last one */
async function* eventsUntilNow(
  { client, follow }: Pick<Caller, "client" | "follow">,
  choice: EventChoice,
  from: string,
): AsyncGenerator<readonly EventDocument[]> {
  const since = new Date(Number.parseInt(from, 10)).toISOString();
  const [last] = await readNewest(client, { ...choice, since }, 1);
  if (last === undefined || !isAfter(last.id, from)) return;
  for await (const events of follow(choice, from)) {
    yield events.filter(({ id }) => !isAfter(id, last.id));
    if (events.some(({ id }) => !isAfter(last.id, id))) return;
  }
  throw new Error("The list was interrupted");
}

/** Newest first. */
async function readNewest(
  client: Client,
  choice: EventChoice & { readonly since?: string },
  max: number,
): Promise<readonly EventDocument[]> {
  const events: EventDocument[] = [];
  for (let cursor: string | null | undefined; cursor !== null && events.length < max;) {
    const query = { ...choice, limit: Math.min(max - events.length, 1_000), cursor };
    const page = await client.call(listEvents, { query });
    events.push(...page.events);
    cursor = page.nextCursor;
  }
  return events;
}

function isAfter(id: string, other: string): boolean {
  return placeOf(id) > placeOf(other);
}

async function* toLines(lots: AsyncIterable<readonly EventDocument[]>, form: "json" | "text"): AsyncGenerator<string> {
  const toLine = (event: EventDocument): string =>
    form === "json" ? JSON.stringify(event) : withLocalTimes(visible(formatEvent(event)));
  for await (const events of lots) yield events.map((event) => `${toLine(event)}\n`).join("");
}

function formatEvent({ at, type, profile, fields }: EventDocument): string {
  const reported = Object.entries(fields).map(
    ([name, value]) => `${name}=${/^[\w.:+/@-]*$/.test(value) ? value : JSON.stringify(value)}`,
  );
  return [at, type, profile || "*", ...reported].join("  ");
}

/** The event after which to start. */
function asPlace(text: string): string {
  return /^\d{1,15}-\d{1,20}$/.test(text) ? text : idBefore(Date.parse(asInstant(text)));
}

function asTypes(pattern: string, before: string[] | undefined): string[] {
  const types = typesMeantBy(pattern);
  if (types.length > 0) return [...(before ?? []), ...types];
  throw new InvalidArgumentError(
    `There is no event ${pattern}.${suggestion(pattern, knownPatterns())} docs/reference/events.md lists them.`,
  );
}

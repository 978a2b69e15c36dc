/** `simfleet events`: the feed, oldest first, and with `--follow` what happens from there on. */
import { Command, InvalidArgumentError } from "@commander-js/extra-typings";
import { suggestion } from "#core/suggest.ts";
import { visible } from "#core/visible-text.ts";
import { beforeAll } from "../feed.ts";
import type { EventDocument } from "../contract.ts";
import { type EventType, knownPatterns, typesMeantBy } from "../event.ts";
import { type Context, asCount, withCommon } from "#cli/context.ts";
import { asInstant } from "#cli/values.ts";
import type { EventSource } from "#cli/event-source.ts";
import { withLocalTimes } from "#cli/format.ts";
import type { Output } from "#cli/output.ts";

/** The greatest number that an event of a millisecond can have. */
const lastOfMs = "18446744073709551615";

export function eventsCommand(context: Context): Command {
  const command = new Command("events")
    .description("Print events, oldest first")
    .option(
      "--since <from>",
      "start after this event ID, or at an age such as 90m, 24h or 7d, or a date or time such as 2026-11-20 or 2026-11-20T08:00, in local time unless it has an offset",
      asPlace,
    )
    .option("--type <type>", "only events of this type, such as run.completed or run.*; repeatable", asTypes)
    .option("-n, --limit <n>", "without --since: number of most recent events", asCount, 20)
    .option("-f, --follow", "print new events until Ctrl-C; with --json one document per line (NDJSON)");
  return withCommon(command, "simfleet events --since 1h --type run.* --type sync.failed --follow").action(
    async (options) => {
      const output = context.output(options);
      const selection = { types: options.type, profile: options.profile };
      const isFollowing = options.follow === true;
      const form = output.isJson && !isFollowing ? inOneDocument(output) : byLine(output);
      const { since, limit } = options;
      await context.connect(options, async ({ eventSource }) => {
        const source = eventSource(selection, (text) => output.say(text));
        const lastId = since === undefined ? await showLast(source, limit, form) : await showAll(source, since, form);
        await form.end();
        if (isFollowing) for await (const events of source.follow(lastId)) await form.add(events);
      });
    },
  );
}

/** How events are written. */
interface Form {
  add(events: readonly EventDocument[]): Promise<void>;
  end(): Promise<void>;
}

function byLine(output: Output): Form {
  const lineOf = (event: EventDocument): string =>
    output.isJson ? JSON.stringify(event) : withLocalTimes(visible(textOf(event)));
  return {
    add: (events) => output.stream(events.map((event) => `${lineOf(event)}\n`).join("")),
    end: () => Promise.resolve(),
  };
}

function inOneDocument(output: Output): Form {
  let separator = '{"events": [\n';
  return {
    add: async (events) => {
      for (const event of events) {
        await output.stream(`${separator}${JSON.stringify(event)}`);
        separator = ",\n";
      }
    },
    end: () =>
      output.stream(separator === ",\n" ? '\n], "nextCursor": null}\n' : '{"events": [], "nextCursor": null}\n'),
  };
}

/** @returns id of the last event that was shown, or after which they start */
async function showLast(source: EventSource, max: number, form: Form): Promise<string> {
  const { events, lastId } = await source.last(max);
  await form.add(events);
  return lastId;
}

async function showAll(source: EventSource, from: string, form: Form): Promise<string> {
  let lastId = from;
  for await (const events of source.after(from)) {
    await form.add(events);
    lastId = events.at(-1)?.id ?? lastId;
  }
  return lastId;
}

function textOf({ at, type, profile, fields }: EventDocument): string {
  const reported = Object.entries(fields).map(
    ([name, value]) => `${name}=${/^[\w.:+/@-]*$/.test(value) ? value : JSON.stringify(value)}`,
  );
  return [at, type, profile || "*", ...reported].join("  ");
}

/** The event after which to start. */
function asPlace(text: string): string {
  if (/^\d{1,15}-\d{1,20}$/.test(text)) return text;
  const ms = Date.parse(asInstant(text));
  return ms <= 0 ? beforeAll : `${ms - 1}-${lastOfMs}`;
}

function asTypes(pattern: string, before: readonly EventType[] | undefined): readonly EventType[] {
  const types = typesMeantBy(pattern);
  if (types.length > 0) return [...(before ?? []), ...types];
  throw new InvalidArgumentError(
    `There is no event ${pattern}.${suggestion(pattern, knownPatterns())} docs/reference/events.md lists them.`,
  );
}

// `simfleet events …`: the event feed.

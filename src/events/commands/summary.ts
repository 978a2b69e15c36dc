/** `simfleet summary`: what happened since a time, on one screen. */
import { Command } from "@commander-js/extra-typings";
import { type Context, withCaller } from "#cli/context.ts";
import { grouped } from "#core/grouped.ts";
import { asInstant } from "#cli/values.ts";
import { type EventDocument, type Summary, showSummary } from "../contract.ts";
import { factsOfEvent } from "../event.ts";
import { partsOfSentence, textOfSentence } from "../sentence.ts";

export function summaryCommand(context: Context): Command {
  const command = new Command("summary")
    .description("Summarize what happened since a time: runs, schedules, rotations, problems, external changes")
    .option(
      "--since <time>",
      "since an age such as 90m, 12h or 7d, or a date or time such as 2026-11-20T18:00, in local time unless it has an offset; by default 12h",
      asInstant,
    );
  return withCaller(context, command, "simfleet summary --since 12h", async ({ client, output }, options) => {
    const query = { since: options.since, profile: options.profile };
    output.answer(await client.call(showSummary, { query }), summaryText);
  });
}

function summaryText(summary: Summary): string {
  const { runs, schedules, rotations, problems, externalChanges, calls } = summary;
  const rows = partsText(runs.rows);
  return [
    `From ${summary.since} to ${summary.until}`,
    ...(summary.complete ? [] : ["There are too many events: the oldest are not counted."]),
    ...section("Runs", runs, rows === "none" ? "" : ` (rows: ${rows})`),
    ...section("Schedules", schedules),
    ...section("Rotations", rotations),
    `External changes: ${partsText(externalChanges)}`,
    `Calls: ${grouped(calls.calls)}, ${grouped(calls.throttled)} of them returned 429`,
    ...section("Other problems", problems),
  ].join("\n");
}

function section(title: string, { events, ...counts }: { events: readonly EventDocument[] }, more = ""): string[] {
  return [`${title}: ${partsText(counts)}${more}`, ...events.map((event) => `  ${event.at}  ${toSentence(event)}`)];
}

/** `2 completed, 1 aborted`; `notDone` is shown as `not done`. */
function partsText(counts: Readonly<Record<string, unknown>>): string {
  const parts = Object.entries(counts).filter(([, value]) => typeof value === "number" && value > 0);
  const texts = parts.map(([name, value]) =>
    name === "count" ? String(value) : `${String(value)} ${name.replace("notDone", "not done")}`,
  );
  return texts.length === 0 ? "none" : texts.join(", ");
}

function toSentence({ type, fields }: EventDocument): string {
  return textOfSentence(partsOfSentence(factsOfEvent(type)?.sentence ?? type, fields));
}

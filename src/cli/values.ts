/** Values of options that several commands take: instants and filters. */
import { InvalidArgumentError, Option } from "@commander-js/extra-typings";
import { systemClock } from "#core/time.ts";
import { parseInstant } from "#core/ago.ts";
import { parseFilter } from "#fleet/filter.ts";

/** Parses an age such as `24h`, a date, or a time. @returns milliseconds since the epoch. @throws InvalidArgumentError */
export function asInstant(text: string): number {
  const ms = parseInstant(text);
  if (ms === undefined)
    throw new InvalidArgumentError(
      "It must be an age such as 90m, 24h or 7d, or a date or time such as 2026-11-20 or 2026-11-20T08:00, in local time unless it has an offset.",
    );
  return ms;
}

/** Parses `90d` from now, or a date or time, into milliseconds since the epoch. @throws InvalidArgumentError */
export function asFuture(text: string): number {
  const ms = asInstant(text);
  return /^\d+[mhd]$/.test(text) ? 2 * systemClock.wallMs() - ms : ms;
}

export function whereOption(description: string) {
  return new Option(
    "--where <filter>",
    `${description}, such as 'tags.site=berlin and (status=active or createdTime>30d ago)' (docs/inventory.md); repeatable, and all must match`,
  ).argParser<string[]>((text, before) => [...(before ?? []), text]);
}

/** Rejects a filter that cannot be read, before anything is opened. @throws SimfleetError USAGE */
export function assertFilter(texts: readonly string[] | undefined): void {
  if (texts !== undefined) parseFilter(texts);
}

/** Values of options that several commands take: instants and filters. */
import { InvalidArgumentError, Option } from "@commander-js/extra-typings";
import { systemClock } from "#core/time.ts";
import { parseInstant } from "#core/ago.ts";
import { parseFilter } from "#fleet/filter.ts";
import { failureActions } from "#fleet/waves.ts";
import { asCount } from "./context.ts";

/** The forms of a time, in words. */
export const timeForms =
  "an age such as 90m, 24h or 7d, or a date or time such as 2026-11-20 or 2026-11-20T08:00, in local time unless it has an offset";

/** Parses an age such as `24h`, a date, or a time. @returns ISO 8601, UTC. @throws InvalidArgumentError */
export function asInstant(text: string): string {
  const ms = parseInstant(text);
  if (ms !== undefined) return new Date(ms).toISOString();
  throw new InvalidArgumentError(`It must be ${timeForms}.`);
}

/** @param description the words before the forms of the time */
export function sinceOption(description: string) {
  return new Option("--since <time>", `${description} ${timeForms}`).argParser(asInstant);
}

/** Parses `90d` from now, or a date or time. @returns ISO 8601, UTC. @throws InvalidArgumentError */
export function asFuture(text: string): string {
  const at = asInstant(text);
  return /^\d+[mhd]$/.test(text) ? new Date(2 * systemClock.wallMs() - Date.parse(at)).toISOString() : at;
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

export function addWaveOptions(command: { addOption(option: Option): unknown }): void {
  for (const option of [
    new Option("--waves <list>", "process the rows in waves, such as 20,5%,100%: SIMs or shares, cumulative"),
    new Option("--soak <time>", "wait after each wave, such as 10m"),
    new Option(
      "--gate <condition>",
      'start the next wave only if enough SIMs of this one match, such as "status=active >= 95%"',
    ),
    new Option("--min-sample <n>", "do not judge waves with fewer SIMs (default: 1)").argParser(asCount),
    new Option("--sample <n>", "check at most this many SIMs after each wave (default: 200)").argParser(asCount),
    new Option("--on-failure <what>", "what to do if a wave does not meet its gate (default: pause)").choices(
      failureActions,
    ),
    new Option("--canary <n>", "short for --waves n,100%: the rest only if all of these succeed").argParser(asCount),
  ])
    command.addOption(option);
}

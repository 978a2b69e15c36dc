/** Parses the instants that commands accept: an age such as `24h`, a date, or a time. */
import { InvalidArgumentError } from "@commander-js/extra-typings";
import { parseInstant } from "#core/ago.ts";

/** Milliseconds since the epoch. @throws InvalidArgumentError */
export function asInstant(text: string): number {
  const ms = parseInstant(text);
  if (ms === undefined)
    throw new InvalidArgumentError(
      "It must be an age such as 90m, 24h or 7d, or a date or time such as 2026-11-20 or 2026-11-20T08:00, in local time unless it has an offset.",
    );
  return ms;
}

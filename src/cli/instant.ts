/** Parses the instants that commands accept: an age such as `24h`, a date, or a time. */
import { InvalidArgumentError } from "@commander-js/extra-typings";
import { parseInstant } from "#core/ago.ts";
import { commonStrings } from "./strings.ts";

/** Milliseconds since the epoch. @throws InvalidArgumentError */
export function asInstant(text: string): number {
  const ms = parseInstant(text);
  if (ms === undefined) throw new InvalidArgumentError(commonStrings.notAnInstant);
  return ms;
}

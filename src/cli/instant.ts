/** Parses the instants that commands accept: an age such as `24h`, or a time. */
import { InvalidArgumentError } from "@commander-js/extra-typings";
import { agoMs } from "#core/ago.ts";
import { commonStrings } from "./strings.ts";

/** Milliseconds since the epoch of `90m`, `24h`, `7d` ago, or of a time. @throws InvalidArgumentError */
export function asInstant(text: string): number {
  const ago = agoMs(text);
  if (ago !== undefined) return ago;
  const instant = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(instant)) throw new InvalidArgumentError(commonStrings.notAnInstant);
  return instant;
}

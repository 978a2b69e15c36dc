/** Parses the instants that commands accept: an age such as `24h`, or a time. */
import { InvalidArgumentError } from "@commander-js/extra-typings";
import { systemClock } from "#core/time.ts";

const unitMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Milliseconds since the epoch of `90m`, `24h`, `7d` ago, or of a time. @throws InvalidArgumentError */
export function asInstant(text: string): number {
  const [, count, unit = ""] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  if (count !== undefined) return systemClock.wallMs() - Number(count) * (unitMs[unit] ?? 0);
  const instant = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(instant)) throw new InvalidArgumentError("It has to be like 90m, 24h, 7d or 2026-11-20T08:00Z.");
  return instant;
}

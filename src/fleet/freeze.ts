/** Periods in which nothing may change on the platform: runs make no calls and rotations make no steps. */
import { SimfleetError } from "#core/errors.ts";
import { minuteMs, secondMs } from "#core/time.ts";
import type { Cron } from "./time/cron.ts";

export interface FreezePeriod {
  readonly name: string;
  /** Undefined: every profile. */
  readonly profile: string | undefined;
  readonly when:
    | { readonly fromMs: number; readonly toMs: number }
    /** A freeze that opens at each time of a cron expression, for `lengthMs`. */
    | { readonly opens: Cron; readonly lengthMs: number };
}

/** An active freeze. */
export interface Freeze {
  /** For people: `the freeze year-end`, `anna has frozen all changes: incident 12`. */
  readonly reason: string;
  /** Undefined: until a user ends it. */
  readonly untilMs: number | undefined;
}

/** @throws SimfleetError CHANGES_FROZEN for a call that is to be made at once: one that can wait is held instead */
export function assertUnfrozen(freeze: Freeze | undefined, nowMs: number): void {
  if (freeze === undefined) return;
  const { reason, untilMs } = freeze;
  const leftMs = untilMs === undefined ? minuteMs : Math.max(secondMs, untilMs - nowMs);
  const message = `Changes are frozen: ${reason}. The call was not sent; try again after the freeze.`;
  throw new SimfleetError("CHANGES_FROZEN", message, { retryAfterMs: leftMs });
}

/** One occurrence of a period. */
export interface FreezeTime {
  readonly name: string;
  /** Undefined: every profile. */
  readonly profile: string | undefined;
  readonly fromMs: number;
  readonly toMs: number;
}

/** The occurrences of the periods that are not over at an instant, earliest first. @param max per period */
export function freezeTimes(periods: readonly FreezePeriod[], atMs: number, max: number): FreezeTime[] {
  return periods
    .flatMap(({ name, profile, when }) => timesOf(when, atMs, max).map((time) => ({ name, profile, ...time })))
    .sort((a, b) => a.fromMs - b.fromMs);
}

function timesOf(when: FreezePeriod["when"], atMs: number, max: number): { fromMs: number; toMs: number }[] {
  if ("fromMs" in when) return when.toMs > atMs ? [when] : [];
  const times: { fromMs: number; toMs: number }[] = [];
  let opens = when.opens.next(atMs - when.lengthMs);
  while (opens !== undefined && times.length < max) {
    times.push({ fromMs: opens, toMs: opens + when.lengthMs });
    opens = when.opens.next(opens);
  }
  return times;
}

/** The period that freezes a profile at an instant; if there are several, the one that ends last. */
export function freezeAt(periods: readonly FreezePeriod[], profile: string, atMs: number): Freeze | undefined {
  let longest: Freeze | undefined;
  for (const period of periods) {
    if (period.profile !== undefined && period.profile !== profile) continue;
    const untilMs = endOf(period, atMs);
    if (untilMs === undefined || (longest?.untilMs ?? 0) >= untilMs) continue;
    longest = { reason: `the freeze ${period.name}`, untilMs };
  }
  return longest;
}

/** The end of the period that is open at an instant. */
function endOf({ when }: FreezePeriod, atMs: number): number | undefined {
  if ("fromMs" in when) return when.fromMs <= atMs && atMs < when.toMs ? when.toMs : undefined;
  // The last opening that still applies: openings may follow each other more closely than their length.
  let openedMs: number | undefined;
  let next = when.opens.next(atMs - when.lengthMs);
  while (next !== undefined && next <= atMs) {
    openedMs = next;
    next = when.opens.next(next);
  }
  return openedMs === undefined ? undefined : openedMs + when.lengthMs;
}

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

/** The occurrences of the periods that are not over at an instant, earliest first. @param max per period */
export function freezeTimes(periods: readonly FreezePeriod[], atMs: number, max: number) {
  return periods
    .flatMap(({ name, profile, when }) => [...listTimes(when, atMs, max)].map((time) => ({ name, profile, ...time })))
    .sort((a, b) => a.fromMs - b.fromMs);
}

/** The occurrences of a period that are not over at an instant, in order; those of a cron expression need not end. */
function* listTimes(when: FreezePeriod["when"], atMs: number, max = Infinity) {
  if ("fromMs" in when) {
    if (when.toMs > atMs) yield when;
    return;
  }
  const { opens, lengthMs } = when;
  let fromMs = opens.next(atMs - lengthMs);
  for (let n = 0; n < max && fromMs !== undefined; n += 1) {
    yield { fromMs, toMs: fromMs + lengthMs };
    fromMs = opens.next(fromMs);
  }
}

/** The period that freezes a profile at an instant; if there are several, the one that ends last. */
export function freezeAt(periods: readonly FreezePeriod[], profile: string, atMs: number): Freeze | undefined {
  let longest: Freeze | undefined;
  for (const { name, when, ...of } of periods) {
    if (of.profile !== undefined && of.profile !== profile) continue;
    for (const { fromMs, toMs: untilMs } of listTimes(when, atMs)) {
      if (fromMs > atMs) break;
      if ((longest?.untilMs ?? 0) < untilMs) longest = { reason: `the freeze ${name}`, untilMs };
    }
  }
  return longest;
}

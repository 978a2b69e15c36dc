/**
 * Cron expressions in a time zone. A time of day that a switch to daylight saving time skips fires later by the length
 * of the shift; one that occurs twice fires once. Schedules of every so many minutes continue by the minute.
 * cron-parser finds the times as if in UTC, since across shifts it skips some and returns others twice. Expressions
 * that it accepts but an operator hardly intends (too few fields, `H` for a random value) are rejected.
 */
import { CronExpressionParser } from "cron-parser";
import { SimfleetError, messageOf } from "#core/errors.ts";
import { dayMs, hourMs, minuteMs } from "#core/time.ts";

export interface Cron {
  readonly text: string;
  /** IANA name. */
  readonly timezone: string;
  /** The first instant after the given one, ms since the epoch; undefined if there is none. */
  next(afterMs: number): number | undefined;
}

const names: readonly string[] = ["@hourly", "@daily", "@weekly", "@monthly", "@yearly", "@annually"];
const example = "An example: 0 8 * * 1-5 is 08:00 from Monday to Friday (minute, hour, day, month, weekday)";

/** @throws SimfleetError USAGE that says what is wrong, with an example */
export function parseCron(text: string, timezone: string): Cron {
  if (!isTimezone(timezone)) {
    throw new SimfleetError("USAGE", `${timezone} is not a time zone: an example is Asia/Tokyo`);
  }
  const fields = text.trim().split(/\s+/);
  const isName = fields.length === 1 && names.includes(text.trim());
  if (!isName && fields.length !== 5 && fields.length !== 6) {
    const count = text.trim() === "" ? "nothing" : `${fields.length} field${fields.length === 1 ? "" : "s"}`;
    throw fault(text, `it has ${count}, and needs five, or six with seconds first`);
  }
  const random = isName ? undefined : fields.find((field) => /(^|[^A-Za-z])H/i.test(field));
  if (random !== undefined) throw fault(text, `${random} means a random value; use jitterSeconds instead`);
  const shownAfter: ShownAfter = (shownMs) => {
    const times = CronExpressionParser.parse(text, { tz: "UTC", currentDate: new Date(shownMs) });
    return () => {
      try {
        return times.next().getTime();
      } catch {
        return undefined;
      }
    };
  };
  const wall = new WallClock(timezone);
  const isEveryHour = text.trim() === "@hourly" || /^\*(\/1)?$/.test(fields.at(-4) ?? "");
  const next = (afterMs: number): number | undefined =>
    isEveryHour ? wall.firstShownAfter(afterMs, shownAfter) : wall.firstAfter(afterMs, shownAfter);
  try {
    CronExpressionParser.parse(text, { tz: timezone });
  } catch (thrown) {
    throw fault(text, messageOf(thrown).replace(/^Constraint error, /, ""));
  }
  if (next(0) === undefined) throw fault(text, "there is no such day");
  return { text, timezone, next };
}

function fault(text: string, what: string): SimfleetError {
  return new SimfleetError("USAGE", `${JSON.stringify(text)} is not a cron expression: ${what}. ${example}`);
}

export function isTimezone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat("en", { timeZone: name }).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}

/** `2026-11-22 08:00:00 Asia/Tokyo` */
export function localText(atMs: number, timezone: string): string {
  const format = { timeZone: timezone, dateStyle: "short", timeStyle: "medium" } as const;
  return `${new Intl.DateTimeFormat("sv-SE", format).format(atMs)} ${timezone}`;
}

/** The next times, so many at most, as UTC and in the time zone. */
export function nextTimes(cron: Cron, afterMs: number, count: number): { at: string; local: string }[] {
  const times: { at: string; local: string }[] = [];
  for (let next = cron.next(afterMs); next !== undefined && times.length < count; next = cron.next(next))
    times.push({ at: new Date(next).toISOString(), local: localText(next, cron.timezone) });
  return times;
}

// Converts between instants and local time in a time zone.

/** Gives the times of a schedule after a local time, one by one; undefined after the last one. */
type ShownAfter = (shownMs: number) => () => number | undefined;

/** No zone shifts its clocks by more at once, except when whole days were skipped. */
const maxShiftMs = 3 * hourMs;

class WallClock {
  readonly #format: Intl.DateTimeFormat;

  /** @param timezone IANA name */
  constructor(timezone: string) {
    this.#format = new Intl.DateTimeFormat("en", { timeZone: timezone, timeZoneName: "longOffset" });
  }

  /** Offset of local time from UTC at an instant. */
  offsetMs(atMs: number): number {
    const name = this.#format.formatToParts(atMs).find(({ type }) => type === "timeZoneName")?.value ?? "";
    const [, sign = "+", hours = "0", minutes = "0"] = /^GMT([+-])(\d\d):(\d\d)/.exec(name) ?? [];
    return (sign === "-" ? -1 : 1) * (Number(hours) * hourMs + Number(minutes) * minuteMs);
  }

  /** Local time at an instant, represented as if it were UTC. */
  shownAt(atMs: number): number {
    return atMs + this.offsetMs(atMs);
  }

  /**
   * The instant of a local time: the first one if it occurs twice; if it is skipped, the instant that would have had
   * that local time without the shift.
   */
  instantOf(shownMs: number): number {
    const before = shownMs - this.offsetMs(shownMs - dayMs);
    if (this.shownAt(before) === shownMs) return before;
    const after = shownMs - this.offsetMs(shownMs + dayMs);
    return this.shownAt(after) === shownMs ? after : before;
  }

  /**
   * The first instant after the given one at which local time is one of some times; repeated local times count each
   * time, skipped ones never: for schedules of every so many minutes.
   */
  firstShownAfter(afterMs: number, shownAfter: ShownAfter): number | undefined {
    let [fromMs, offset] = [afterMs, this.offsetMs(afterMs)];
    for (;;) {
      const shown = shownAfter(fromMs + offset)();
      if (shown === undefined) return undefined;
      const instant = shown - offset;
      if (this.offsetMs(instant) === offset) return instant;
      const change = this.#changeIn(Math.max(fromMs, afterMs), instant);
      [fromMs, offset] = [change - 1, this.offsetMs(change)];
    }
  }

  /** The first instant with the new offset, between two instants whose offsets differ. */
  #changeIn(fromMs: number, toMs: number): number {
    const offset = this.offsetMs(fromMs);
    let [before, after] = [fromMs, toMs];
    while (after - before > 1) {
      const middle = Math.floor((before + after) / 2);
      if (this.offsetMs(middle) === offset) before = middle;
      else after = middle;
    }
    return after;
  }

  /**
   * The first instant after the given one at which it is one of some times of day: each counts once, whether local time
   * repeats or skips it.
   */
  firstAfter(afterMs: number, shownAfter: ShownAfter): number | undefined {
    const offset = this.offsetMs(afterMs);
    const next = shownAfter(afterMs + offset)();
    if (next === undefined) return undefined;
    const plain = next - offset;
    const around = [afterMs - maxShiftMs, plain - maxShiftMs, plain + maxShiftMs].map((atMs) => this.offsetMs(atMs));
    const shiftMs = Math.max(offset, ...around) - Math.min(offset, ...around);
    // Far from any shift, as nearly always.
    if (shiftMs === 0) return plain;
    const nextShown = shownAfter(afterMs + offset - shiftMs);
    let first: number | undefined;
    // A skipped time fires among those that follow it.
    for (let shown = nextShown(); shown !== undefined; shown = nextShown()) {
      if (first !== undefined && shown > this.shownAt(first) + shiftMs) break;
      const instant = this.instantOf(shown);
      if (instant > afterMs) first = Math.min(instant, first ?? instant);
    }
    return first;
  }
}

/**
 * Cron expressions in a time zone. A time of day that a switch to daylight saving time skips fires later by the length
 * of the shift; one that occurs twice fires once. Schedules of every so many minutes continue by the minute. cron-parser finds
 * the times as if in UTC, since across shifts it skips some and returns others twice.
 * Expressions that it accepts but an operator hardly intends (too few fields, `H` for a random value) are rejected.
 */
import { CronExpressionParser } from "cron-parser";
import { SimfleetError, messageOf } from "#core/errors.ts";
import { WallClock } from "./wall-clock.ts";

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
  /** The times after a local time, one by one; undefined after the last one. */
  const shownAfter = (shownMs: number): (() => number | undefined) => {
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

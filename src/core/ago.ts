/**
 * The one parser of times that people give: of `--since` and `--until`, and of `since` in queries of the control API.
 * The types of the dashboard include this file, so it uses no module of Node.js.
 */

/** Milliseconds of each unit of a period or an age. */
export const unitMs: ReadonlyMap<string, number> = new Map(
  Object.entries({ s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }),
);
const time = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)(Z|[+-]\d\d:\d\d)?)?$/;

/**
 * Milliseconds since the epoch of an age (`90m`, `24h`, `7d`), a date (also `20261125`) or a time; undefined for
 * another text. A date starts at midnight; without an offset, dates and times are local, as all that are shown.
 */
export function parseInstant(text = ""): number | undefined {
  const [, count, unit = ""] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  if (count !== undefined) return Date.now() - Number(count) * (unitMs.get(unit) ?? 0);
  // The platform's own form of a date.
  const ms = parseTime(text.replace(/^(\d{4})(\d\d)(\d\d)$/, "$1-$2-$3"));
  return Number.isNaN(ms) ? undefined : ms;
}

/**
 * Milliseconds since the epoch of a date or a time in ISO 8601; NaN for another text.
 * @param offset of a text that has none, such as `Z`; default: that of the local time
 */
export function parseTime(text: string, offset = ""): number {
  const [, date, timeOfDay = "00:00", own = offset] = time.exec(text) ?? [];
  // Date.parse takes February 30 for March 2.
  const isDay = date !== undefined && new Date(`${date}T00:00Z`).getUTCDate() === Number(date.slice(8));
  return isDay ? Date.parse(`${date}T${timeOfDay}${own}`) : Number.NaN;
}

/** A valid period such as `15m`, in milliseconds. */
export function parsePeriod(written: string): number {
  return Number(written.slice(0, -1)) * (unitMs.get(written.slice(-1)) ?? 0);
}

/** Instants in text for people: in local time, with its offset from UTC. JSON keeps UTC. */

const utcInstant = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;

/** Replaces every instant in UTC: `2026-11-22T13:59:07.457Z` becomes `2026-11-22 22:59:07+09:00` in Tokyo. */
export function withLocalTimes(text: string): string {
  return text.replace(utcInstant, (instant) => localTime(new Date(instant)));
}

/** `22:59:07+09:00` */
export function localTimeOfDay(instant: Date): string {
  return localTime(instant).slice("2026-11-22 ".length);
}

function localTime(instant: Date): string {
  const offset = -instant.getTimezoneOffset();
  const atLocal = new Date(instant.getTime() + offset * 60_000).toISOString();
  const minutes = Math.abs(offset);
  const zone = `${offset < 0 ? "-" : "+"}${twoDigits(Math.floor(minutes / 60))}:${twoDigits(minutes % 60)}`;
  return `${atLocal.slice(0, 10)} ${atLocal.slice(11, 19)}${zone}`;
}

function twoDigits(value: number): string {
  return String(value).padStart(2, "0");
}

/** Numbers and durations in the texts of commands. */
import { grouped } from "#core/grouped.ts";
import { systemClock } from "#core/time.ts";
import type { ProblemReport } from "#contract/fields.ts";

/** `1 row`, `12,345 rows` */
export function counted(count: number, noun: string): string {
  return `${grouped(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** `4 s`, `2 min 5 s`, `3 h 12 min`, `2 d 4 h` */
export function duration(ms: number): string {
  const seconds = Math.ceil(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 24 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** `3 min ago`, `in 2 h`, for a text that is an instant; undefined for other texts, and beyond 60 days. */
export function relativeTime(text: string, nowMs: number): string | undefined {
  if (!/^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(text)) return undefined;
  const ms = Date.parse(text) - nowMs;
  const seconds = Math.round(Math.abs(ms) / 1_000);
  if (seconds === 0) return "now";
  if (seconds > 60 * 86_400) return undefined;
  const units = Object.entries({ d: 86_400, h: 3_600, min: 60 });
  const [unit, length] = units.find(([, size]) => seconds >= 2 * size) ?? ["s", 1];
  const distance = `${Math.round(seconds / length)} ${unit}`;
  return ms < 0 ? `${distance} ago` : `in ${distance}`;
}

/** A word of a command line, quoted where a shell needs it. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

// Instants in text for people: in local time, with its offset from UTC. JSON keeps UTC.

const utcInstant = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;

/** Replaces every instant in UTC: `2026-11-22T13:59:07.457Z` becomes `2026-11-22 22:59:07+09:00` in Tokyo. */
export function withLocalTimes(text: string): string {
  return text.replace(utcInstant, (instant) => localTime(new Date(instant)));
}

function localTime(instant: Date): string {
  const offset = -instant.getTimezoneOffset();
  const atLocal = new Date(instant.getTime() + offset * 60_000).toISOString();
  const hoursAndMinutes = new Date(Math.abs(offset) * 60_000).toISOString().slice(11, 16);
  const zone = `${offset < 0 ? "-" : "+"}${hoursAndMinutes}`;
  return `${atLocal.slice(0, 10)} ${atLocal.slice(11, 19)}${zone}`;
}

// Renders the current problem of durable work as text for a terminal.

/** A problem as a line: `The platform answered 500 (12 failed attempts since 12:00:05+02:00, next attempt in 3 s)`. */
export function problemText(problem: ProblemReport, nowMs: number = systemClock.wallMs()): string {
  const { message, since, attempts } = problem;
  const details = [
    `${counted(attempts, "failed attempt")} since ${timeOfDay(since, nowMs)}`,
    nextAttemptText(problem, nowMs),
  ];
  return `${message.replace(/\.$/, "")} (${details.filter((part) => part !== "").join(", ")})`;
}

/** `next attempt in 3 s`; empty when it is not known. */
export function nextAttemptText({ nextAttemptAt }: ProblemReport, nowMs = systemClock.wallMs()): string {
  if (nextAttemptAt === null) return "";
  const untilMs = Date.parse(nextAttemptAt) - nowMs;
  return untilMs > 0 ? `next attempt in ${duration(untilMs)}` : "next attempt now";
}

/** `12:00:05+02:00` within a day, else with the date. */
function timeOfDay(at: string, nowMs: number): string {
  const isToday = nowMs - Date.parse(at) < 86_400_000;
  return isToday ? localTime(new Date(at)).slice("2026-11-22 ".length) : withLocalTimes(at);
}

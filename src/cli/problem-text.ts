/** Renders the current problem of durable work as text for a terminal. */
import { systemClock } from "#core/time.ts";
import type { ProblemReport } from "#engine/problem.ts";
import { localTimeOfDay, withLocalTimes } from "./local-time.ts";
import { counted, duration } from "./format.ts";

/** A problem as one line: `The platform answered 500 (12 failed attempts since 12:00:05+02:00, next attempt in 3 s)`. */
export function problemText(problem: ProblemReport, nowMs: number = systemClock.wallMs()): string {
  const { message, since, attempts } = problem;
  const details = [
    `${counted(attempts, "failed attempt")} since ${timeOfDay(since, nowMs)}`,
    nextAttemptText(problem, nowMs),
  ];
  return `${message.replace(/\.$/, "")} (${details.filter((part) => part !== "").join(", ")})`;
}

/** `next attempt in 3 s`; empty when it is not known. */
export function nextAttemptText(
  { nextAttemptAt }: Pick<ProblemReport, "nextAttemptAt">,
  nowMs: number = systemClock.wallMs(),
): string {
  if (nextAttemptAt === null) return "";
  const untilMs = Date.parse(nextAttemptAt) - nowMs;
  return untilMs > 0 ? `next attempt in ${duration(untilMs)}` : "next attempt now";
}

/** `12:00:05+02:00` within a day, else with the date. */
function timeOfDay(at: string, nowMs: number): string {
  const isToday = nowMs - Date.parse(at) < 86_400_000;
  return isToday ? localTimeOfDay(new Date(at)) : withLocalTimes(at);
}

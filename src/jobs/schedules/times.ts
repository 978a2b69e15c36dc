/** Determines which times of a schedule have passed, and whether they were missed. */
import { createHash } from "node:crypto";
import { minuteMs } from "#core/time.ts";
import type { Cron } from "#fleet/time/cron.ts";
import type { Schedule } from "./config.ts";
import type { Stretch } from "./record.ts";

/** A time noticed later than this was missed: no worker was running. */
const onTimeMs = minuteMs;
/** Upper limit for counting passed times. */
export const maxCounted = 1_000;

/** Times that have passed since the expected one. */
export interface PassedTimes {
  /** The latest of them. */
  readonly latestMs: number;
  /** How many, up to `maxCounted`. */
  readonly count: number;
  /** Whether the latest passed so long ago that no worker can have been running, or that its window has passed. */
  readonly isMissed: boolean;
  /** Whether its task may still start. */
  readonly isInTime: boolean;
}

/** The jitter added to a schedule's time; the same in every process. */
export function jitterOf({ name, jitterMs }: Pick<Schedule, "name" | "jitterMs">, dueMs: number): number {
  if (jitterMs === 0) return 0;
  const digest = createHash("sha256").update(`${name} ${dueMs}`).digest();
  return Math.floor((digest.readUInt32BE(0) / 2 ** 32) * jitterMs);
}

/** The times from `dueMs` (included) to now. */
export function passedTimes(schedule: Schedule, dueMs: number, nowMs: number): PassedTimes {
  const { cron } = schedule;
  let latestMs = dueMs;
  let count = 1;
  for (let next = cron.next(dueMs); next !== undefined && next <= nowMs; next = cron.next(next)) {
    latestMs = next;
    count += 1;
    if (count < maxCounted) continue;
    latestMs = latestBefore(cron, next, nowMs);
    break;
  }
  const { missed } = schedule;
  const windowMs = missed === "once" ? Number.POSITIVE_INFINITY : missed === "skip" ? onTimeMs : missed.withinMs;
  const lateMs = nowMs - latestMs - jitterOf(schedule, latestMs);
  return { latestMs, count, isMissed: lateMs > Math.min(windowMs, onTimeMs), isInTime: lateMs <= windowMs };
}

/** When the window of a time ends, after which its task must not start; never without `within`. */
export function windowEndMs(schedule: Schedule, dueMs: number): number {
  const { missed } = schedule;
  return typeof missed === "string" ? Number.POSITIVE_INFINITY : dueMs + jitterOf(schedule, dueMs) + missed.withinMs;
}

/** The latest time up to now, found without iterating over all of them. */
function latestBefore(cron: Cron, knownMs: number, nowMs: number): number {
  let latestMs = knownMs;
  for (let backMs = onTimeMs; latestMs === knownMs && backMs < nowMs - knownMs; backMs *= 4) {
    for (let next = cron.next(nowMs - backMs); next !== undefined && next <= nowMs; next = cron.next(next)) {
      latestMs = next;
    }
  }
  return latestMs;
}

/** Stretches kept: one more starts whenever a clock jumps ahead, or times were missed. */
const maxStretches = 10;

/** Whether a time was acted on, maybe by a process whose clock was ahead. */
export function wasActedOn(stretches: readonly Stretch[], atMs: number): boolean {
  return stretches.some(([fromMs, untilMs]) => fromMs <= atMs && atMs <= untilMs);
}

/** The stretches with one more time. */
export function withTime({ cron }: Pick<Schedule, "cron">, stretches: readonly Stretch[], atMs: number): Stretch[] {
  const before = stretches.find(([, untilMs]) => untilMs < atMs && cron.next(untilMs) === atMs);
  const others = stretches.filter((one) => one !== before);
  return [...others, [before?.[0] ?? atMs, atMs] as const].slice(-maxStretches);
}

/** `nightly-20261122T030000Z` */
export function executionId(name: string, dueMs: number): string {
  return `${name}-${new Date(dueMs).toISOString().replace(/[-:]|\.000/g, "")}`;
}

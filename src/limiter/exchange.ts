/**
 * The arguments and results of one exchange with a bucket (bucket.lua): what a process reports and requests, and how it is
 * encoded. An observation is one text, since long argument lists are expensive for the sender.
 */
import type { QuotaReading, Urgency } from "./permit.ts";

/** One report to the bucket, in the order in which bucket.lua reads it. */
export interface Observation {
  readonly permitNumber: number;
  readonly kind: "answered" | "throttled" | "lost" | "back";
  readonly window: number;
  readonly serial: number;
  readonly grantedAtMs: number;
  readonly sentAfterMs: number;
  readonly receivedAtMonotonicMs: number;
  readonly reading: QuotaReading | undefined;
  readonly retryAfterMs: number;
}

/** The result of an exchange. */
export interface Exchange {
  readonly nowMs: number;
  readonly window: number;
  readonly firstSerial: number;
  readonly granted: number;
  /** Granted beyond those. */
  readonly ahead: number;
  readonly waitMs: number;
}

export interface ExchangeRequest {
  readonly want: number;
  /** Permits to take ahead, beyond those wanted now, if much of the quota is left. */
  readonly ahead: number;
  readonly firstPermitNumber: number;
  readonly urgency: Urgency;
  readonly backlog: number;
  readonly observations: readonly Observation[];
}

/** The process, and the settings of the bucket. */
export interface ExchangeOptions {
  readonly bucket: string;
  readonly processId: string;
  readonly periodMs: number;
  readonly reserve: Reserve;
  readonly leaseMs: number;
  /** Live calls may come at any time from now on, as through a gateway. */
  readonly mayComeLive: boolean;
}

/**
 * What bulk work leaves to others: `auto`, or a share of the quota, 0 to 1, that it leaves in any case. 0 leaves nothing, also
 * not what `auto` leaves.
 */
export type Reserve = number | "auto";

/** @param nowMs the process's own clock, which the observations' times refer to */
export function exchangeArguments(
  options: ExchangeOptions,
  request: ExchangeRequest,
  nowMs: number,
): (string | number)[] {
  const { bucket, periodMs, reserve, leaseMs, processId, mayComeLive } = options;
  const { want, ahead, firstPermitNumber, urgency, backlog, observations } = request;
  return [
    bucket,
    periodMs,
    reserve,
    leaseMs,
    processId,
    want,
    firstPermitNumber,
    urgency,
    backlog,
    mayComeLive ? 1 : 0,
    ahead,
    ...observations.map((seen) => written(seen, nowMs)),
  ];
}

function written(seen: Observation, nowMs: number): string {
  const { limit = "", remaining = "", secondsBeforeRefresh = "" } = seen.reading ?? {};
  const receivedAgoMs = (nowMs - seen.receivedAtMonotonicMs).toFixed(3);
  const when = `${seen.grantedAtMs.toFixed(3)},${seen.sentAfterMs.toFixed(3)},${receivedAgoMs}`;
  const quota = `${limit},${remaining},${secondsBeforeRefresh},${seen.retryAfterMs}`;
  return `${seen.permitNumber},${seen.kind},${seen.window},${seen.serial},${when},${quota}`;
}

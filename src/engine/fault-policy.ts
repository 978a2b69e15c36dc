/**
 * What durable work does after a fault: one table from the error's code to the next action. A feature overrides single
 * rules, also depending on its state. Errors without a rule are thrown, so that the queue or the caller retries.
 */
import { type BackoffPolicy, backoffMs } from "#core/backoff.ts";
import { type ErrorCode, SimfleetError } from "#core/errors.ts";
import { minuteMs, secondMs } from "#core/time.ts";

export type FaultRule = "give-up" | "throw" | FaultWait;

interface FaultWait {
  /** Time until the next attempt, ms; a backoff grows with the failed attempts. */
  readonly delay: number | BackoffPolicy;
  /** Use of the error's `retryAfterMs`: it replaces the delay or is its minimum. Ignored by default. */
  readonly retryAfter?: "replaces" | "is-minimum";
  /** Delays up to this are slept through, ms; 0 by default. */
  readonly sleepUpToMs?: number;
  /** The wait is no problem of the work, such as a spent quota. */
  readonly isNoProblem?: true;
  /** The fault counts as a failed attempt of the step. */
  readonly countsTry?: true;
  /** The work gives up with this failed attempt. */
  readonly maxTries?: number;
}

export interface FaultRules extends Readonly<Partial<Record<ErrorCode, FaultRule>>> {
  /** Errors without a rule of their own that a retry cannot help. */
  readonly hopeless?: FaultRule;
  /** All other errors without a rule, also those that are not simfleet's own. */
  readonly other?: FaultRule;
}

/** Retries with a growing delay. */
export const retryRule = {
  delay: { baseMs: secondMs, capMs: minuteMs },
  retryAfter: "is-minimum",
  countsTry: true,
} as const satisfies FaultRule;

/** An operator must renew credentials or permissions. */
const refusalRule = { delay: 30 * secondMs } as const satisfies FaultRule;
/** An operator must fix the configuration. */
const configurationRule = { delay: minuteMs } as const satisfies FaultRule;

const rateLimitRule = {
  delay: secondMs,
  retryAfter: "replaces",
  sleepUpToMs: 2 * secondMs,
  isNoProblem: true,
} as const satisfies FaultRule;

const usualRules: FaultRules = {
  PLATFORM_RATE_LIMITED: rateLimitRule,
  PLATFORM_UNAUTHORIZED: refusalRule,
  PLATFORM_FORBIDDEN: refusalRule,
  PLATFORM_REJECTED: "give-up",
  PLATFORM_RESPONSE_INVALID: "give-up",
  PLATFORM_UNAVAILABLE: retryRule,
  SINK_FAILED: retryRule,
  SECRET_GENERATION_FAILED: "give-up",
  SEAL_DECRYPTION_FAILED: configurationRule,
  CONFIG_INVALID: configurationRule,
};

/** Overrides some of the usual rules. */
export function faultRules(overrides: FaultRules): FaultRules {
  return { ...usualRules, ...overrides };
}

/** @throws the fault itself if no rule covers it */
export function ruleFor(fault: unknown, { hopeless, other = "throw", ...rules }: FaultRules): "give-up" | FaultWait {
  const ofOthers = fault instanceof SimfleetError && fault.disposition === "never" ? (hopeless ?? other) : other;
  const rule = fault instanceof SimfleetError ? (rules[fault.code] ?? ofOthers) : other;
  if (rule === "throw") throw fault;
  return rule;
}

/** Time until the next attempt, ms. @param failed attempts of the step, this one included */
export function delayAfter(fault: unknown, failed: number, { delay, retryAfter }: FaultWait): number {
  const ownMs = typeof delay === "number" ? delay : backoffMs(delay, failed);
  const askedMs = fault instanceof SimfleetError ? fault.retryAfterMs : undefined;
  if (retryAfter === undefined || askedMs === undefined) return ownMs;
  return retryAfter === "replaces" ? askedMs : Math.max(ownMs, askedMs);
}

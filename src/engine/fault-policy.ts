/**
 * What durable work does after a fault: one table from the error's code to the next action. A feature overrides single rules,
 * also depending on its state. Errors without a rule are thrown, so that the queue retries the job, or the caller does.
 */
import { type BackoffPolicy, backoffMs } from "#core/backoff.ts";
import { type ErrorCode, PlatformError, SimfleetError, messageOf } from "#core/errors.ts";
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

export type FaultAction =
  | { readonly kind: "sleep"; readonly delayMs: number }
  | {
      readonly kind: "wait";
      readonly delayMs: number;
      readonly isProblem: boolean;
      /** Failed attempts of the step, including this one if it counts. */
      readonly tries: number;
      /** The platform rejected our credentials or permissions. */
      readonly refusal: PlatformError | undefined;
    }
  | { readonly kind: "give-up"; readonly reason: string };

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

/**
 * Determines what follows a fault.
 * @param tries failed attempts of the step before this one
 * @throws the fault itself if no rule covers it
 */
export function actionAfter(fault: unknown, tries: number, rules: FaultRules): FaultAction {
  const rule = ruleFor(fault, rules);
  if (rule === "throw") throw fault;
  const failed = tries + 1;
  const isLast = rule !== "give-up" && rule.maxTries !== undefined && failed >= rule.maxTries;
  if (rule === "give-up" || isLast) return { kind: "give-up", reason: messageOf(fault) };
  const delayMs = delayOf(rule, failed, fault instanceof SimfleetError ? fault.retryAfterMs : undefined);
  if (delayMs <= (rule.sleepUpToMs ?? 0)) return { kind: "sleep", delayMs };
  return {
    kind: "wait",
    delayMs,
    isProblem: rule.isNoProblem !== true,
    tries: rule.countsTry === true ? failed : tries,
    refusal: fault instanceof PlatformError && fault.exitCode === 3 ? fault : undefined,
  };
}

function ruleFor(fault: unknown, { hopeless, other = "throw", ...rules }: FaultRules): FaultRule {
  if (!(fault instanceof SimfleetError)) return other;
  return rules[fault.code] ?? (fault.disposition === "never" ? (hopeless ?? other) : other);
}

function delayOf({ delay, retryAfter }: FaultWait, failed: number, retryAfterMs: number | undefined): number {
  const ownMs = typeof delay === "number" ? delay : backoffMs(delay, failed);
  if (retryAfter === undefined || retryAfterMs === undefined) return ownMs;
  return retryAfter === "replaces" ? retryAfterMs : Math.max(ownMs, retryAfterMs);
}

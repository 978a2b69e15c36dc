/**
 * Processes the rotations of a profile: advances each as far as possible, and returns when to poll again. A rotation
 * continues from its record only, so it does not matter which process does it, or how the previous one ended.
 */
import { backoffMs } from "#core/backoff.ts";
import { ConfigError, PlatformError, SimfleetError } from "#core/errors.ts";
import { minuteMs, secondMs } from "#core/time.ts";
import { nextProblem } from "#engine/problem.ts";
import type { RotationState } from "./record.ts";
import type { WorkResult } from "#engine/queue/job-result.ts";
import { checkAges } from "./steps/age.ts";
import { handOverToAll, makeSecret } from "./steps/hand-over.ts";
import { createSuccessor, updateInPlace, verifyUpdate } from "./steps/put-on-platform.ts";
import { repoint } from "./steps/repoint.ts";
import { retire } from "./steps/retire.ts";
import { rollBack } from "./steps/roll-back.ts";
import { SinkError } from "./sinks.ts";
import { MovedByAnother, type RotationContext, Turn } from "./steps/turn.ts";

/** Called with incidents that an operator should know about. */
export type ReportIncident = (incident: {
  readonly message: string;
  readonly refusal?: PlatformError;
  readonly isInReport?: boolean;
}) => void;

const sleepInPlaceMs = 2_000;
const refusalPauseMs = 30 * secondMs;
const unreachablePauseMs = 5 * secondMs;
const humanPauseMs = 10 * minuteMs;
const configPauseMs = minuteMs;
const sinkTries = 6;
const sinkBackoff = { baseMs: 1_000, capMs: minuteMs };

/**
 * Advances every rotation of the profile that is in progress as far as possible.
 * @param signal aborts when this process stops or has lost the job
 * @throws errors of the store; the queue then retries the job
 */
export async function workOnRotations(
  profile: string,
  context: RotationContext,
  deps: { signal: AbortSignal; emit: ReportIncident },
): Promise<WorkResult> {
  const { signal, emit } = deps;
  for (;;) {
    if (signal.aborted) return { kind: "handed-back" };
    await checkAges(profile, context, deps);
    const inProgress = await context.log.inProgress(profile);
    if (inProgress.length === 0) return { kind: "ended" };
    const nowMs = context.clock.wallMs();
    const due = inProgress.filter(({ nextAtMs }) => nextAtMs <= nowMs);
    if (due.length === 0) {
      const delayMs = Math.min(...inProgress.map(({ nextAtMs }) => nextAtMs)) - nowMs;
      return { kind: "postponed", delayMs, scope: "job", reason: "rotations wait" };
    }
    for (const { name } of due) {
      if (!signal.aborted) await workOnRotation(name, context, { signal, emit });
    }
  }
}

/** Whether the profile's rotations have work now (`due`), later (`waiting`), or none. */
export async function statusOf(profile: string, context: RotationContext): Promise<"none" | "waiting" | "due"> {
  const nowMs = context.clock.wallMs();
  const inProgress = await context.log.inProgress(profile);
  if (inProgress.some(({ nextAtMs }) => nextAtMs <= nowMs)) return "due";
  for (const { name, maxAgeMs } of context.rotationsOf(profile)) {
    if (maxAgeMs === undefined || inProgress.some((record) => record.name === name)) continue;
    if ((await context.log.ageCheck(name)).checkAtMs <= nowMs) return "due";
  }
  return inProgress.length > 0 ? "waiting" : "none";
}

/** Advances one rotation as far as possible. */
async function workOnRotation(
  name: string,
  context: RotationContext,
  { signal, emit }: { signal: AbortSignal; emit: ReportIncident },
): Promise<void> {
  const record = await context.log.record(name);
  if (record === undefined) return;
  const rotation = context.rotationOf(name);
  if (rotation === undefined) {
    const reason = `the rotation ${name} is under way and no longer in the configuration: put it back, so that it can end`;
    emit({ message: reason, isInReport: true });
    const nowMs = context.clock.wallMs();
    const problem = nextProblem(record.problem, { message: reason, nowMs, delayMs: configPauseMs });
    await context.log.move(record, { waitsFor: "fault", reason, nextAtMs: nowMs + configPauseMs, problem });
    return;
  }
  const turn = new Turn({ record, rotation, context, signal });
  try {
    while (!turn.isOver && turn.record.nextAtMs <= turn.nowMs) {
      if (signal.aborted) return;
      await stepOn(turn, emit);
    }
  } catch (thrown) {
    if (thrown instanceof MovedByAnother || signal.aborted) return;
    throw thrown;
  } finally {
    turn.release();
  }
}

const steps: Record<RotationState, (turn: Turn) => Promise<void>> = {
  planned: makeSecret,
  generated: handOverToAll,
  "handed-over": (turn) => (turn.record.strategy === "successor" ? createSuccessor(turn) : updateInPlace(turn)),
  created: repoint,
  updated: verifyUpdate,
  repointed: retire,
  "rolling-back": rollBack,
  done: () => Promise.resolve(),
  failed: () => Promise.resolve(),
};

/** In these states the new secret is active, or is being rolled back: a rejected call is retried instead of rolled back. */
const beyondReturn: ReadonlySet<RotationState> = new Set(["updated", "repointed", "rolling-back"]);

async function stepOn(turn: Turn, emit: ReportIncident): Promise<void> {
  try {
    await steps[turn.record.state](turn);
  } catch (thrown) {
    if (turn.signal.aborted) return;
    if (!(thrown instanceof SimfleetError)) throw thrown;
    await afterFault(turn, thrown, emit);
  }
}

async function afterFault(turn: Turn, fault: SimfleetError, emit: ReportIncident): Promise<void> {
  const later = (delayMs: number, more: { tries?: number; refusal?: PlatformError } = {}): Promise<void> => {
    const { tries, refusal } = more;
    const message = `rotation ${turn.record.name}: ${fault.message}`;
    emit({ message, isInReport: true, ...(refusal === undefined ? {} : { refusal }) });
    const change = tries === undefined ? {} : { tries };
    return turn.wait({ waitsFor: "fault", reason: fault.message, delayMs, ...change });
  };
  if (fault instanceof SinkError) {
    const tries = turn.record.tries + 1;
    if (fault.isFinal || tries >= sinkTries) return turn.giveUp(fault.message);
    return later(Math.max(backoffMs(sinkBackoff, tries), fault.retryAfterMs ?? 0), { tries });
  }
  switch (fault.code) {
    case "PLATFORM_THROTTLED":
      return afterThrottle(turn, fault, later);
    case "PLATFORM_UNAUTHORIZED":
    case "PLATFORM_FORBIDDEN":
      return later(refusalPauseMs, fault instanceof PlatformError ? { refusal: fault } : {});
    case "PLATFORM_REJECTED":
    case "PLATFORM_CONTRACT":
      return beyondReturn.has(turn.record.state) ? later(humanPauseMs) : turn.giveUp(fault.message);
    case "PLATFORM_UNAVAILABLE":
      return later(unreachablePauseMs);
    case "SECRET_GENERATION_FAILED":
      return turn.giveUp(fault.message);
    default:
      // The user must fix this: a key that does not decrypt, or an operation removed from the deployment.
      if (fault.code === "SEAL_DECRYPTION_FAILED" || fault instanceof ConfigError) return later(configPauseMs);
      throw fault;
  }
}

async function afterThrottle(turn: Turn, fault: SimfleetError, later: (delayMs: number) => Promise<void>) {
  const delayMs = (fault instanceof PlatformError ? fault.retryAfterMs : undefined) ?? secondMs;
  if (delayMs > sleepInPlaceMs) return later(delayMs);
  await turn.context.clock.sleep(delayMs, turn.signal).catch(() => undefined);
}

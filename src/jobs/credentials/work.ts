/**
 * Processes the rotations of a profile: advances each as far as possible, and returns when to poll again. A rotation
 * continues from its record only, so it does not matter which process does it, or how the previous one ended.
 */
import type { PlatformError } from "#core/errors.ts";
import { minuteMs, secondMs } from "#core/time.ts";
import { type FaultRules, faultRules, retryRule } from "#engine/fault-policy.ts";
import { nextProblem, setAsideProblem } from "#engine/problem.ts";
import { type StepMachine, type Steps, type Wait, runSteps } from "#engine/steps.ts";
import type { RotationChange, RotationRecord, RotationState } from "./record.ts";
import type { WorkResult } from "#engine/queue/job-result.ts";
import { checkAges } from "./steps/age.ts";
import { handOverToAll, makeSecret } from "./steps/hand-over.ts";
import { createSuccessor, updateInPlace, verifyUpdate } from "./steps/put-on-platform.ts";
import { repoint } from "./steps/repoint.ts";
import { retire } from "./steps/retire.ts";
import { rollBack } from "./steps/roll-back.ts";
import { type RotationContext, StepContext } from "./steps/step-context.ts";
import { SinkError } from "./sinks.ts";

/** Called with incidents that an operator should know about. */
export type ReportIncident = (incident: {
  readonly message: string;
  readonly refusal?: PlatformError;
  readonly isInReport?: boolean;
}) => void;

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
    if (((await context.log.ageCheck({ name, profile })).nextCheckAtMs ?? 0) <= nowMs) return "due";
  }
  return inProgress.length > 0 ? "waiting" : "none";
}

/** Advances one rotation as far as possible. */
async function workOnRotation(
  name: string,
  context: RotationContext,
  { signal, emit }: { signal: AbortSignal; emit: ReportIncident },
): Promise<void> {
  const { log, clock } = context;
  const rotation = context.rotationOf(name);
  if (rotation === undefined) return waitForConfiguration(name, context, emit);
  const open = async (): Promise<StepContext | undefined> => {
    const record = await log.record(name);
    const isDue = record !== undefined && record.waitsFor !== "set-aside" && record.nextAtMs <= clock.wallMs();
    return isDue ? new StepContext({ record, rotation, context, signal }) : undefined;
  };
  const machine: StepMachine<StepContext, RotationChange> = {
    open,
    clock,
    stateOf: ({ record }) => record.state,
    steps,
    save: (step, change, events) => step.save(change, events),
    saveWait,
    guard: context.guard,
    pointOf: ({ record: { rotationId, state } }) => `rotation ${name} ${rotationId} ${state}`,
    saveSetAside,
    saveGivingUp: (step, reason) => step.save({ state: "rolling-back", reason }),
    faultRules: ({ record }, fault) => ({ rules: rulesFor(record, fault), tries: record.tries }),
    onFault: (message, refusal) => {
      const incident = { message: `rotation ${name}: ${message}`, isInReport: true };
      emit(refusal === undefined ? incident : { ...incident, refusal });
    },
    close: (step) => step.release(),
  };
  await runSteps(machine, signal);
}

async function waitForConfiguration(name: string, { log, clock }: RotationContext, emit: ReportIncident) {
  const record = await log.record(name);
  if (record === undefined) return;
  const reason = `the rotation ${name} is in progress but no longer in the configuration: add it back so that it can finish`;
  emit({ message: reason, isInReport: true });
  const nowMs = clock.wallMs();
  const problem = nextProblem(record.problem, { message: reason, nowMs, delayMs: minuteMs });
  await log.move(record, { waitsFor: "fault", reason, nextAtMs: nowMs + minuteMs, problem });
}

const steps: Steps<Exclude<RotationState, "done" | "failed">, StepContext, RotationChange> = {
  planned: makeSecret,
  generated: handOverToAll,
  delivered: (step) => (step.record.strategy === "successor" ? createSuccessor(step) : updateInPlace(step)),
  created: repoint,
  updated: verifyUpdate,
  switched: retire,
  "rolling-back": rollBack,
};

/** Events are emitted unless the rotation already waited for the same. */
function saveWait(step: StepContext, wait: Wait<RotationChange>): Promise<void> {
  const { record, nowMs } = step;
  const { delayMs, reason, isProblem, tries = record.tries, change = {}, events = [] } = wait;
  const waiting: RotationChange = {
    waitsFor: "fault",
    ...change,
    reason,
    tries,
    nextAtMs: nowMs + Math.max(1, Math.ceil(delayMs)),
    problem: isProblem === true ? nextProblem(record.problem, { message: reason, nowMs, delayMs }) : undefined,
  };
  const isKnown = record.waitsFor === waiting.waitsFor && record.reason === reason;
  return step.save(waiting, isKnown ? [] : events);
}

/** Keeps the rotation where it is until a person continues it. */
function saveSetAside(step: StepContext, why: string): Promise<void> {
  const { record, nowMs } = step;
  const reason = `${why}; continue with: simfleet credentials rotate ${record.name}`;
  const problem = setAsideProblem(record.problem, { message: reason, nowMs });
  return step.save({ waitsFor: "set-aside", reason, problem }, [
    { type: "credential.set-aside", fields: { reason: why } },
  ]);
}

const rules = faultRules({
  PLATFORM_THROTTLED: { delay: secondMs, retryAfter: "replaces", sleepUpToMs: 2 * secondMs },
  PLATFORM_UNAVAILABLE: { delay: 5 * secondMs },
  SINK_FAILED: { ...retryRule, maxTries: 6 },
});
const finalSinkRules: FaultRules = { SINK_FAILED: "give-up" };
/** The new secret is active, or is being rolled back: a person is waited for, instead of rolling back. */
const rejectedLater: FaultRules = {
  ...rules,
  PLATFORM_REJECTED: { delay: 10 * minuteMs },
  PLATFORM_RESPONSE_INVALID: { delay: 10 * minuteMs },
};
const beyondReturn: ReadonlySet<RotationState> = new Set(["updated", "switched", "rolling-back"]);

function rulesFor({ state }: RotationRecord, fault: unknown): FaultRules {
  if (fault instanceof SinkError && fault.isFinal) return finalSinkRules;
  return beyondReturn.has(state) ? rejectedLater : rules;
}

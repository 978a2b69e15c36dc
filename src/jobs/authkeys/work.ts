/**
 * Replaces a profile's AuthKey without interrupting its calls. Each step starts from the record that the previous step saved
 * (record.ts lists the transitions), so after a crash the rotation still ends in one of two ways: the new AuthKey is in use
 * and the old one revoked, or the old one is in use and the new one revoked. It never revokes an AuthKey that this process
 * or another live process uses.
 */
import { type FaultRules, faultRules, retryRule } from "#engine/fault-policy.ts";
import { nextProblem, setAsideProblem } from "#engine/problem.ts";
import type { WorkResult } from "#engine/queue/job-result.ts";
import { type Steps, type Wait, runSteps } from "#engine/steps.ts";
import { awaitTakeUp, handOver } from "./steps/deliver.ts";
import { begin, create, makeRoom, prove } from "./steps/create.ts";
import type { AuthKeyChange, AuthKeyPhase, AuthKeyRotation } from "./record.ts";
import { awaitQuiet, finish, revokeOld, takeBack } from "./steps/revoke.ts";
import { type AuthKeyDeps, failed, StepContext } from "./steps/step-context.ts";

const releaseHint = "continue with: simfleet authkeys rotate";

const steps: Steps<Exclude<AuthKeyPhase, "done" | "failed">, StepContext, AuthKeyChange> = {
  begun: begin,
  "making-room": makeRoom,
  creating: create,
  created: prove,
  verified: handOver,
  delivered: awaitTakeUp,
  active: awaitQuiet,
  revoking: revokeOld,
  revoked: finish,
  "taking-back": takeBack,
};

/**
 * Continues the rotation of a profile's AuthKey that is in progress.
 * @param signal aborts when this process stops or has lost the job
 * @throws errors of the store; the queue then retries the job
 */
export function rotateAuthKey(profile: string, deps: AuthKeyDeps, signal: AbortSignal): Promise<WorkResult> {
  const open = async (): Promise<StepContext | undefined> => {
    const record = await deps.rotations.record(profile);
    return record && record.setAsideAtMs === undefined ? new StepContext(record, deps, signal) : undefined;
  };
  return runSteps(
    {
      open,
      clock: deps.clock,
      stateOf: ({ record }) => record.phase,
      steps,
      save: (step, change, events) => step.save(change, events),
      saveWait,
      saveGivingUp,
      guard: deps.guard,
      pointOf: ({ record: { rotationId, phase } }) => `AuthKey of ${profile} ${rotationId} ${phase}`,
      saveSetAside,
      faultRules: ({ record }) => ({ rules: rulesFor(record), tries: record.tries }),
      close: (step) => step.release(),
    },
    signal,
  );
}

/** A wait that the record shows already is not saved again. */
async function saveWait(step: StepContext, wait: Wait<AuthKeyChange>): Promise<void> {
  const { record, deps } = step;
  const { delayMs, reason, isProblem = false, tries = record.tries, change } = wait;
  const isKnown = record.waitsFor === reason && record.problem === undefined && tries === record.tries;
  if (isKnown && !isProblem && change === undefined) return;
  const failure = { message: reason, nowMs: await deps.rotations.nowMs(), delayMs };
  const problem = isProblem ? nextProblem(record.problem, failure) : undefined;
  await step.save({ waitsFor: reason, tries, problem, ...change });
}

/** Keeps the rotation where it is until a person continues it. */
async function saveSetAside(step: StepContext, reason: string): Promise<void> {
  const { record, deps } = step;
  const nowMs = await deps.rotations.nowMs();
  const problem = setAsideProblem(record.problem, { message: `${reason}; ${releaseHint}`, nowMs });
  const event = { type: "authkey.set-aside", fields: { authKeyId: record.oldId ?? "", reason } } as const;
  await step.save({ setAsideAtMs: nowMs, waitsFor: problem.message, problem }, [event]);
}

/** Rolls the rotation back to the old AuthKey. */
function saveGivingUp(step: StepContext, reason: string): Promise<void> {
  const { phase, oldId } = step.record;
  if (phase !== "begun") return step.save({ phase: "taking-back", reason });
  const { change, event } = failed(reason, oldId);
  return step.save(change, [event]);
}

const rules = faultRules({
  PLATFORM_UNAUTHORIZED: { delay: 30_000, countsTry: true },
  PLATFORM_FORBIDDEN: { delay: 30_000, countsTry: true },
  PLATFORM_REJECTED: retryRule,
  PLATFORM_RESPONSE_INVALID: retryRule,
  SEAL_DECRYPTION_FAILED: retryRule,
  CONFIG_INVALID: "throw",
});
/** Nothing was changed yet, so the rotation ends. */
const endingRules: FaultRules = {
  ...rules,
  PLATFORM_UNAUTHORIZED: "give-up",
  PLATFORM_FORBIDDEN: "give-up",
  PLATFORM_REJECTED: "give-up",
  PLATFORM_RESPONSE_INVALID: "give-up",
};

function rulesFor({ phase, tries }: AuthKeyRotation): FaultRules {
  // For example, the deployment defines no path for a sub-user's AuthKeys.
  if (phase === "begun") return { ...endingRules, CONFIG_INVALID: "give-up" };
  // The platform can reject a creation because an earlier one, whose response was lost, took the slot: check once more.
  return phase === "making-room" || (phase === "creating" && tries > 0) ? endingRules : rules;
}

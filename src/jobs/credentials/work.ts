/**
 * Processes the rotations of a profile: advances each as far as possible, and returns when to poll again. A rotation
 * continues from its record only, so it does not matter which process does it, or how the previous one ended.
 */
import { SimfleetError, PlatformError } from "#core/errors.ts";
import { minuteMs, secondMs } from "#core/time.ts";
import { type FaultRules, faultRules, retryRule } from "#engine/fault-policy.ts";
import { nextProblem } from "#engine/problem.ts";
import { type Steps, move } from "#engine/steps.ts";
import type { RotationChange, RotationRecord, RotationState } from "./record.ts";
import { handOverToAll, isRotationOver, runRotation } from "./rotation-machine.ts";
import type { Incident, WorkResult } from "#engine/queue/job-result.ts";
import { createSuccessor, updateInPlace, verifyUpdate, isOurs } from "./steps/put-on-platform.ts";
import { leftBehind, repoint, repointGroups, retire } from "./steps/replace-old-set.ts";
import { type RotationContext, CredentialStep, type RotationResult } from "./steps/credential-step.ts";
import { SinkError, handOver } from "./sinks.ts";
import { AccountSets } from "./account-sets.ts";
import { placesOf } from "./references.ts";
import { currentSet, rotationsOf } from "./plan.ts";
import { newSecret } from "./new-secret.ts";
import type { MoveEvent } from "#engine/move-record.ts";

/**
 * Advances every rotation of the profile that is in progress as far as possible.
 * @param signal aborts when this process stops or has lost the job
 * @throws errors of the store; the queue then retries the job
 */
export async function workOnRotations(
  profile: string,
  context: RotationContext,
  deps: { signal: AbortSignal; emit: (incident: Incident) => void },
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
  for (const { name, maxAgeMs } of rotationsOf(profile, context.rotations)) {
    if (maxAgeMs === undefined || inProgress.some((record) => record.name === name)) continue;
    if (((await context.log.ageCheck({ name, profile })).nextCheckAtMs ?? 0) <= nowMs) return "due";
  }
  return inProgress.length > 0 ? "waiting" : "none";
}

/** Advances one rotation as far as possible. */
async function workOnRotation(
  name: string,
  context: RotationContext,
  { signal, emit }: { signal: AbortSignal; emit: (incident: Incident) => void },
): Promise<void> {
  const { log, clock, guard } = context;
  const rotation = Object.hasOwn(context.rotations, name) ? context.rotations[name] : undefined;
  if (rotation === undefined) return waitForConfiguration(name, context, emit);
  const open = async (): Promise<CredentialStep | undefined> => {
    const record = await log.record(name);
    return record === undefined || record.nextAtMs > clock.wallMs()
      ? undefined
      : new CredentialStep(record, rotation, context, signal);
  };
  await runRotation<RotationRecord, CredentialStep>(
    {
      open,
      steps,
      rulesFor,
      giveUp: (_, failure) => [{ state: "rolling-back", failure }],
      quarantined: (_, reason) => ({ type: "credential.quarantined", fields: { reason } }),
      resumeCommand: `simfleet credentials rotate ${name}`,
      subject: `rotation ${name}`,
      guard,
      clock,
      nowMs: () => clock.wallMs(),
      onFault: (message, refusal) =>
        emit({ message: `rotation ${name}: ${message}`, isInReport: true, ...(refusal !== undefined && { refusal }) }),
    },
    signal,
  );
}

async function waitForConfiguration(name: string, { log, clock }: RotationContext, emit: (incident: Incident) => void) {
  const record = await log.record(name);
  if (record === undefined) return;
  const reason = `the rotation ${name} is in progress but no longer in the configuration: add it back so that it can finish`;
  emit({ message: reason, isInReport: true });
  const nowMs = clock.wallMs();
  const problem = nextProblem(record.problem, { message: reason, nowMs, delayMs: minuteMs });
  await log.move(record, { waitsFor: "fault", reason, nextAtMs: nowMs + minuteMs, problem });
}

const steps: Steps<Exclude<RotationState, "done" | "failed">, CredentialStep, RotationChange> = {
  planned: makeSecret,
  generated: deliver,
  delivered: (step) => (step.record.strategy === "successor" ? createSuccessor(step) : updateInPlace(step)),
  created: repoint,
  updated: verifyUpdate,
  switched: retire,
  "rolling-back": rollBack,
};

const rules = faultRules({
  PLATFORM_RATE_LIMITED: { delay: secondMs, retryAfter: "replaces", sleepUpToMs: 2 * secondMs },
  PLATFORM_UNAVAILABLE: { delay: 5 * secondMs },
  SINK_FAILED: { ...retryRule, maxTries: 6 },
});
const finalSinkRules: FaultRules = { SINK_FAILED: "give-up" };
/** The new secret is active, or is being rolled back: it waits for a user instead of rolling back. */
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

// Checks the age of secrets whose rotation has a maximum age, and reports each older one once.

const pollIntervalMs = 60 * minuteMs;

async function checkAges(
  profile: string,
  context: RotationContext,
  { signal, emit }: { signal: AbortSignal; emit: (incident: Incident) => void },
): Promise<void> {
  const { log, clock } = context;
  const nowMs = clock.wallMs();
  for (const rotation of rotationsOf(profile, context.rotations)) {
    const { name, maxAgeMs } = rotation;
    if (maxAgeMs === undefined || signal.aborted) continue;
    const check = await log.ageCheck(rotation);
    if ((check.nextCheckAtMs ?? 0) > nowMs) continue;
    const record = await log.record(name);
    if (record !== undefined && !isRotationOver(record)) continue;
    const change = { nextCheckAtMs: nowMs + pollIntervalMs };
    try {
      const sets = await new AccountSets(context.accountFor(profile), signal).list();
      const { credentialsId, createdAtMs = 0, updatedAtMs = 0 } = currentSet(rotation, record, sets) ?? {};
      const sinceMs = Math.max(createdAtMs, updatedAtMs);
      const since = new Date(sinceMs).toISOString();
      const reported = `${credentialsId} since ${since}`;
      const isDue = sinceMs > 0 && nowMs - sinceMs >= maxAgeMs && reported !== check.reported;
      const event = { type: "credential.expiring", fields: { credentialsId, since } } as const;
      await log.noteAge(name, check, isDue ? { change: { ...change, reported }, events: [event] } : { change });
    } catch (thrown) {
      if (signal.aborted || !(thrown instanceof SimfleetError)) throw thrown;
      emit({ message: `the age of ${name} is not known: ${thrown.message}` });
      await log.noteAge(name, check, { change });
    }
  }
}

// The first steps of every rotation: generates and encrypts the new secret, then delivers it to every sink.

/** planned -> generated. If a generated secret was not saved, it is lost, and a new one is generated. */
async function makeSecret(step: CredentialStep): Promise<RotationResult> {
  const { rotation, account, context, signal, record } = step;
  const secrets = await newSecret(rotation, account.deployment.credentialTypes, context.sinkDeps, signal);
  step.hold(...Object.values(secrets));
  return move({ state: "generated", sealed: await context.seal.seal(record.rotationId, secrets) });
}

/** generated -> delivered */
async function deliver(step: CredentialStep): Promise<RotationResult> {
  const { rotation, record, context, signal } = step;
  const { name, profile, constants, source } = rotation;
  const { rotationId, newId: credentialsId, type, startedAtMs } = record;
  const secrets = await step.secrets();
  const named = { rotation: name, rotationId, profile, credentialsId, type, startedAtMs };
  const handover = { ...named, secrets, constants, field: source.field };
  return handOverToAll(
    step,
    rotation.sinks,
    (sink) => handOver(sink, handover, context.sinkDeps, signal),
    (sink) => ({ type: "credential.handed-over", fields: { sink } }),
  );
}

// rolling-back -> failed: groups refer to the old set again, and the successor is deleted if nothing refers to it. A sink
// cannot return the new value: sinks that already have it are reported.

async function rollBack(step: CredentialStep): Promise<RotationResult> {
  const { strategy, failure: reason = "", handedToNames } = step.record;
  const obstacle = strategy === "successor" ? await withdraw(step) : undefined;
  const failed: MoveEvent = {
    type: "credential.failed",
    fields: { reason, sinks: handedToNames.join(", ") },
  };
  const left = obstacle === undefined ? [] : [leftBehind(step.record.newId, obstacle)];
  return move({ state: "failed", finishedAtMs: step.nowMs, sealed: undefined, reason }, ...left, failed);
}

/** @returns why the successor still exists; undefined if it does not */
async function withdraw(step: CredentialStep): Promise<string | undefined> {
  const { oldId, newId } = step.record;
  const found = await step.sets.find(newId);
  if (found === undefined) return undefined;
  if (!isOurs(found, step.record)) return "another than this rotation made it";
  if (step.sets.can("listGroups")) {
    try {
      if (oldId !== undefined) await repointGroups(step, { from: newId, to: oldId });
    } catch (thrown) {
      const isRefused = thrown instanceof PlatformError && thrown.disposition === "never" && thrown.exitCode !== 3;
      if (!isRefused) throw thrown;
    }
    const named = (await step.sets.references(newId)).filter(({ how }) => how === "id");
    if (named.length > 0) return `${placesOf(named)} names it`;
  }
  return step.sets.remove(newId);
}

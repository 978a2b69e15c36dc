/**
 * Replaces a profile's AuthKey without interrupting its calls. Each step starts from the record that the previous step saved
 * (record.ts lists the transitions), so after a crash the rotation still ends in one of two ways: the new AuthKey is in use
 * and the old one revoked, or the old one is in use and the new one revoked. It never revokes an AuthKey that this process
 * or another live process uses.
 */
import { type FaultRules, faultRules, retryRule } from "#engine/fault-policy.ts";
import { nextProblem, quarantineProblem } from "#engine/problem.ts";
import type { WorkResult } from "#engine/queue/job-result.ts";
import { type Steps, type Wait, runSteps, again, giveUp, move, wait } from "#engine/steps.ts";
import type { AuthKeyChange, AuthKeyPhase, AuthKeyRotation } from "./record.ts";
import { type AuthKeyDeps, type AuthKeyResult, failed, StepContext, revoked } from "./step-context.ts";
import { PlatformError, SimfleetError } from "#core/errors.ts";
import { Secret } from "#core/secret.ts";
import type { CreatedAuthKey } from "./account.ts";
import { obstacleOf } from "./plan.ts";
import { sinkKey, sinkName } from "#jobs/credentials/sinks.ts";

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
    return record && record.quarantinedAtMs === undefined ? new StepContext(record, deps, signal) : undefined;
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
      saveQuarantined,
      faultRules: ({ record }) => ({ rules: rulesFor(record), tries: record.tries }),
      close: (step) => step.release(),
    },
    signal,
  );
}

/** A wait that the record shows already is not saved again. */
async function saveWait(step: StepContext, waiting: Wait<AuthKeyChange>): Promise<void> {
  const { record, deps } = step;
  const { delayMs, reason, isProblem = false, tries = record.tries, change } = waiting;
  const isKnown = record.waitsFor === reason && record.problem === undefined && tries === record.tries;
  if (isKnown && !isProblem && change === undefined) return;
  const failure = { message: reason, nowMs: await deps.rotations.nowMs(), delayMs };
  const problem = isProblem ? nextProblem(record.problem, failure) : undefined;
  await step.save({ waitsFor: reason, tries, problem, ...change });
}

/** Keeps the rotation where it is until a person continues it. */
async function saveQuarantined(step: StepContext, reason: string): Promise<void> {
  const { record, deps } = step;
  const nowMs = await deps.rotations.nowMs();
  const problem = quarantineProblem(record.problem, { message: `${reason}; ${releaseHint}`, nowMs });
  const event = { type: "authkey.quarantined", fields: { authKeyId: record.oldId ?? "", reason } } as const;
  await step.save({ quarantinedAtMs: nowMs, waitsFor: problem.message, problem }, [event]);
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

// First half of an AuthKey rotation: checks the slots, frees one if needed, creates the new AuthKey and verifies it.

const pollAgainMs = 2_000;
/** A new AuthKey may take a moment to be accepted everywhere. */
const proofs = 5;

/** begun -> making-room | creating | failed */
async function begin(step: StepContext): Promise<AuthKeyResult> {
  const { deps, record } = step;
  const { profile, replaceId } = record;
  const keys = await step.list();
  const users = await deps.users.list(profile);
  const oldId = deps.inUseHere();
  const obstacle = obstacleOf({ profile, keys, users, inUseHere: oldId, replaceId });
  if (obstacle !== undefined) return giveUp(obstacle);
  if (replaceId !== undefined) return move({ phase: "making-room", oldId });
  return move({ phase: "creating", oldId, knownIds: keys.map(({ authKeyId }) => authKeyId) });
}

/** making-room -> creating | taking-back */
async function makeRoom(step: StepContext): Promise<AuthKeyResult> {
  const { replaceId = "" } = step.record;
  const end = await step.revokeUnused(replaceId);
  if (end === "used") return giveUp(`${replaceId} has come into use and cannot be revoked.`);
  if (end === "stays") return step.retry(`The platform still lists ${replaceId}.`, pollAgainMs);
  const keys = await step.list();
  const knownIds = keys.map(({ authKeyId }) => authKeyId);
  return move({ phase: "creating", knownIds }, revoked(replaceId, "replaced"));
}

/** creating -> created | taking-back */
async function create(step: StepContext): Promise<AuthKeyResult> {
  const { deps, record } = step;
  const { oldId, knownIds, rotationId, profile } = record;
  const keys = await step.list();
  if (!keys.some(({ authKeyId }) => authKeyId === oldId)) return giveUp(`${oldId} no longer exists.`);
  const unknown = keys.find(({ authKeyId }) => !knownIds.includes(authKeyId));
  if (unknown !== undefined) {
    const { authKeyId } = unknown;
    if (!step.isOrphan(unknown)) return giveUp(`Another program created the AuthKey ${authKeyId} during the rotation.`);
    const end = await step.revokeUnused(authKeyId);
    if (end === "used") return giveUp(`The AuthKey ${authKeyId}, which this rotation did not make, is in use.`);
    return end === "gone"
      ? move({ askedAtMs: undefined }, revoked(authKeyId, "lost"))
      : step.retry(`The platform still lists ${authKeyId}.`, pollAgainMs);
  }
  await step.save({ askedAtMs: "now" });
  const made = await deps.account.create(step.signal);
  step.hold(made.authKey);
  const secrets = { authKeyId: new Secret(made.authKeyId), authKey: made.authKey };
  const sealed = await deps.seal.seal(rotationId, secrets);
  // An id is not secret.
  secrets.authKeyId.forget();
  const { authKeyId } = made;
  const event = { type: "authkey.created", fields: { authKeyId } } as const;
  await deps.rotations.move(step.record, { phase: "created", newId: authKeyId, sealed }, { events: [event] });
  const now = await deps.rotations.record(profile);
  // Another process was faster, and the secret of this AuthKey is lost.
  if (now?.newId !== authKeyId) await deps.account.revoke(authKeyId, step.signal);
  return again;
}

/** created -> verified | taking-back */
async function prove(step: StepContext): Promise<AuthKeyResult> {
  const { record, deps } = step;
  const key = await openKey(step);
  try {
    await deps.account.prove(key);
  } catch (thrown) {
    if (!(thrown instanceof PlatformError) || thrown.code !== "PLATFORM_UNAUTHORIZED") throw thrown;
    if (record.tries + 1 >= proofs) return giveUp(`The new AuthKey is not accepted: ${thrown.message}`);
    return step.retry(thrown.message, pollAgainMs);
  }
  return move({ phase: "verified" }, { type: "authkey.verified", fields: { authKeyId: key.authKeyId } });
}

/** Decrypts the new AuthKey; the step forgets its secret when it ends. @throws SimfleetError SEAL_DECRYPTION_FAILED */
async function openKey(step: StepContext): Promise<CreatedAuthKey> {
  const { rotationId, sealed = "" } = step.record;
  const { authKeyId, authKey } = await step.deps.seal.open(rotationId, sealed);
  if (authKeyId === undefined || authKey === undefined) throw new Error("the sealed AuthKey is not whole");
  authKeyId.forget();
  step.hold(authKey);
  return { authKeyId: authKeyId.reveal(), authKey };
}

// Delivers a verified AuthKey to the sinks, and waits until this process has loaded it from its secret file.

const pollIntervalMs = 1_000;
/** After this many failed writes, a file is considered not writable. */
const fileTries = 3;

/** verified -> delivered | taking-back */
async function handOver(step: StepContext): Promise<AuthKeyResult> {
  const { record, deps } = step;
  const { profile, rotationId, startedAtMs, handedTo } = record;
  const sink = deps.sinks.find((one) => !handedTo.includes(sinkKey(one)));
  if (sink === undefined) return move({ phase: "delivered" });
  const key = await openKey(step);
  try {
    await deps.handOver(sink, { profile, rotationId, startedAtMs, key }, step.signal);
  } catch (thrown) {
    if (!(thrown instanceof SimfleetError) || thrown.code !== "SINK_FAILED") throw thrown;
    // A file is written atomically, but a program may have passed the AuthKey on before it failed. An AuthKey that a
    // consumer may have must not be revoked: the rotation then waits for its sink, with both AuthKeys valid.
    const isUndelivered = handedTo.length === 0 && sink.kind === "file";
    if (isUndelivered && record.tries + 1 >= fileTries) return giveUp(thrown.message);
    return step.retry(thrown.message);
  }
  const { authKeyId } = key;
  return move(
    { handedTo: [...handedTo, sinkKey(sink)], tries: 0, waitsFor: undefined, problem: undefined },
    { type: "authkey.delivered", fields: { authKeyId, sink: sinkName(sink) } },
  );
}

/** delivered -> active */
async function awaitTakeUp(step: StepContext): Promise<AuthKeyResult> {
  const { record, deps } = step;
  const { newId = "", oldId } = record;
  const inUse = deps.inUseHere();
  if (inUse !== newId) {
    const reason = `waiting until the credentials of ${record.profile} on this machine name ${newId}; they name ${inUse ?? "no AuthKey"} now`;
    return wait({ delayMs: pollIntervalMs, reason });
  }
  const keys = await step.list();
  const lastUsedAtMs = keys.find(({ authKeyId }) => authKeyId === oldId)?.lastUsedAtMs;
  return move({ phase: "active", quietSinceMs: "now", lastUsedAtMs });
}

// Revokes an AuthKey: the old one once it is no longer used, or the new one if the rotation is rolled back.

const quietCheckMs = { min: 2_000, max: 60_000 };

/** active -> revoking, or revoked if another process was faster */
async function awaitQuiet(step: StepContext): Promise<AuthKeyResult> {
  const { record, deps } = step;
  const { profile, oldId = "", quietSinceMs = 0, lastUsedAtMs = 0 } = record;
  const everyMs = Math.min(Math.max(deps.quietMs / 20, quietCheckMs.min), quietCheckMs.max);
  const key = (await step.list()).find(({ authKeyId }) => authKeyId === oldId);
  if (key === undefined) return move({ phase: "revoked" });
  const users = (await deps.users.list(profile)).filter(({ authKeyId }) => authKeyId === oldId);
  const isUsedHere = deps.inUseHere() === oldId;
  const usedAtMs = key.lastUsedAtMs ?? 0;
  if (users.length > 0 || isUsedHere || usedAtMs > lastUsedAtMs) {
    const who = isUsedHere ? "this process" : users.map(({ worker }) => worker).join(", ") || "another program";
    const reason = `waiting until ${oldId} is unused; ${who} still uses it`;
    const used: AuthKeyChange = usedAtMs > 0 ? { lastUsedAtMs: usedAtMs } : {};
    return wait({ delayMs: everyMs, reason, change: { quietSinceMs: "now", ...used } });
  }
  const leftMs = quietSinceMs + deps.quietMs - (await deps.rotations.nowMs());
  if (leftMs > 0) {
    const untilWhen = new Date(quietSinceMs + deps.quietMs).toISOString();
    const reason = `waiting until ${untilWhen}: ${oldId} is revoked then if it stays unused`;
    return wait({ delayMs: Math.min(everyMs, leftMs), reason });
  }
  const reply = await deps.rotations.move(record, { phase: "revoking" }, { unused: oldId });
  if (reply !== "used") return again;
  return wait({
    delayMs: everyMs,
    reason: `waiting until ${oldId} is unused; it is in use again`,
    change: { quietSinceMs: "now" },
  });
}

/** revoking -> revoked, or back to active */
async function revokeOld(step: StepContext): Promise<AuthKeyResult> {
  const { oldId = "" } = step.record;
  const end = await step.revokeUnused(oldId);
  if (end === "used") return move({ phase: "active", quietSinceMs: "now" });
  if (end === "stays") return step.retry(`The platform still lists ${oldId}.`, pollAgainMs);
  return move({ phase: "revoked" }, revoked(oldId, "rotated"));
}

/** revoked -> done */
function finish(step: StepContext): AuthKeyResult {
  const { oldId = "", newId = "" } = step.record;
  return move(
    { phase: "done", finishedAtMs: "now", sealed: undefined },
    { type: "authkey.rotated", fields: { authKeyId: newId, oldId } },
  );
}

/** taking-back -> failed */
async function takeBack(step: StepContext): Promise<AuthKeyResult> {
  const { newId, oldId, reason = "no reason is known" } = step.record;
  const mine = (await step.list()).filter((key) => key.authKeyId === newId || step.isOrphan(key));
  const [first] = mine;
  if (first === undefined) {
    const { change, event } = failed(reason, oldId);
    return move(change, event);
  }
  const { authKeyId } = first;
  const end = await step.revokeUnused(authKeyId);
  if (end === "used") {
    return wait({ delayMs: pollAgainMs, reason: `${authKeyId} is in use and is revoked once it is unused.` });
  }
  if (end === "stays") return step.retry(`The platform still lists ${authKeyId}.`, pollAgainMs);
  return move({}, revoked(authKeyId, "taken-back"));
}

/**
 * Replaces a profile's AuthKey without interrupting its calls. Each step starts from the record that the previous step
 * saved (record.ts lists the transitions), so after a crash the rotation still ends in one of two ways: the new AuthKey
 * is in use and the old one revoked, or the old one is in use and the new one revoked. It never revokes an AuthKey that
 * this process or another live process uses.
 */
import { backoffMs } from "#core/backoff.ts";
import { PlatformError, SimfleetError } from "#core/errors.ts";
import { isoTime } from "#core/time.ts";
import {
  type AuthKey,
  type CreatedAuthKey,
  createAuthKey,
  listAuthKeys,
  revokeAuthKey,
} from "#api/operations/auth-keys.ts";
import type { AuthKeyUser, AuthKeyUsers } from "#engine/authkey-users.ts";
import { type FaultRules, faultRules, retryRule } from "#engine/fault-policy.ts";
import type { MoveEvent } from "#engine/move-record.ts";
import type { WorkResult } from "#engine/queue/job-result.ts";
import { type StepResult, type Steps, again, giveUp, move, wait } from "#engine/steps.ts";
import type { Sink } from "#jobs/credentials/config.ts";
import { type RotationDeps, handOverToAll, RotationStep, runRotation } from "#jobs/credentials/rotation-machine.ts";
import { SinkError } from "#jobs/credentials/sinks.ts";
import type { KeyUser } from "./config.ts";
import type { AuthKeyChange, AuthKeyRotation, AuthKeyRotations, AuthKeyState } from "./record.ts";
import type { PlatformClient } from "#api/client.ts";
import type { DeploymentOperationId } from "#fleet/deployment-operation.ts";
import { type Deployment, requireOperation } from "#fleet/required-operation.ts";

export interface AuthKeyDeps extends RotationDeps<AuthKeyRotation> {
  readonly log: Pick<AuthKeyRotations, "record" | "move" | "nowMs">;
  readonly users: Pick<AuthKeyUsers, "list">;
  readonly account: AuthKeyAccount;
  readonly sinks: readonly Sink[];
  /** How long the old AuthKey must be unused before it is revoked. */
  readonly quietMs: number;
  /** The AuthKey that this process authenticates with, after reloading changed secret files. */
  readonly inUseHere: () => string | undefined;
}

type AuthKeyResult = StepResult<AuthKeyChange>;

const steps: Steps<Exclude<AuthKeyState, "done" | "failed">, AuthKeyStep, AuthKeyChange> = {
  begun: begin,
  "making-room": makeRoom,
  creating: create,
  created: prove,
  verified: deliver,
  delivered: awaitTakeUp,
  active: awaitQuiet,
  revoking: revokeOld,
  revoked: finish,
  "taking-back": takeBack,
};

/** Continues the rotation with this name (see KeyOwner), as `runRotation` does. */
export function rotateAuthKey(name: string, deps: AuthKeyDeps, signal: AbortSignal): Promise<WorkResult> {
  return runRotation<AuthKeyRotation, AuthKeyStep>(
    {
      ...deps,
      open: async () => {
        const record = await deps.log.record(name);
        return record && new AuthKeyStep(record, deps, signal);
      },
      steps,
      rulesFor,
      // Before the first change there is nothing to roll back.
      giveUp: ({ state, oldId }, reason) =>
        state === "begun" ? failed(reason, oldId) : [{ state: "taking-back", failure: reason }],
      quarantined: ({ oldId = "" }, reason) => ({ type: "authkey.quarantined", fields: { authKeyId: oldId, reason } }),
      resumeCommand: ({ user }) => `simfleet authkeys rotate${user === undefined ? "" : ` --user ${user}`}`,
    },
    signal,
  );
}

function failed(reason: string, authKeyId = ""): readonly [AuthKeyChange, MoveEvent] {
  const event = { type: "authkey.failed", fields: { authKeyId, reason } } as const;
  return [{ state: "failed", reason, finishedAtMs: "now", sealed: undefined }, event];
}

/** After this many failed writes, a file is considered not writable. */
const fileTries = 3;

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

function rulesFor({ state, tries, handedTo }: AuthKeyRotation, fault: unknown): FaultRules {
  // For example, the platform definition defines no path for a sub-user's AuthKeys, or both slots are taken.
  if (state === "begun") return { ...endingRules, CONFIG_INVALID: "give-up", ROTATION_STATE_CONFLICT: "give-up" };
  // A file is written atomically, but a program may have passed the AuthKey on before it failed. An AuthKey that a
  // consumer may have must not be revoked: the rotation then waits for its sink, with both AuthKeys valid.
  const isUndelivered = handedTo.length === 0 && fault instanceof SinkError && fault.isOfFile;
  if (isUndelivered) return { ...rules, SINK_FAILED: { ...retryRule, maxTries: fileTries } };
  // The platform can reject a creation because an earlier one, whose response was lost, took the slot: check once more.
  return state === "making-room" || (state === "creating" && tries > 0) ? endingRules : rules;
}

const pollAgainMs = 2_000;
/** Maximum clock difference that is assumed between the platform and Redis. */
const clockDoubtMs = 300_000;

class AuthKeyStep extends RotationStep<AuthKeyRotation, AuthKeyDeps> {
  list(): Promise<AuthKey[]> {
    return this.deps.account.list(this.signal);
  }

  /** Retries the step after a delay that grows with its failures. */
  retry(reason: string): AuthKeyResult {
    const tries = this.record.tries + 1;
    return wait({ delayMs: Math.max(pollAgainMs, backoffMs(retryRule.delay, tries)), reason, isProblem: true, tries });
  }

  /** The new AuthKey, decrypted. @throws SimfleetError SEAL_DECRYPTION_FAILED */
  async newKey(): Promise<CreatedAuthKey> {
    const { authKey } = await this.secrets();
    const { newId } = this.record;
    if (authKey === undefined || newId === undefined) throw new Error("the sealed AuthKey is not whole");
    return { authKeyId: newId, authKey };
  }

  /**
   * Revokes an AuthKey, unless this or another live process uses it.
   * @param next what follows; while the platform still lists the AuthKey, the step is retried
   * @throws PlatformError
   */
  async revokeUnused(
    authKeyId: string,
    next: { used: AuthKeyResult; gone: (left: readonly AuthKey[]) => AuthKeyResult },
  ): Promise<AuthKeyResult> {
    if (this.deps.inUseHere() === authKeyId) return next.used;
    const reply = await this.deps.log.move(this.record, {}, { unused: authKeyId });
    if (reply === "used") return next.used;
    if (reply === "stale") return again;
    try {
      await this.deps.account.revoke(authKeyId, this.signal);
    } catch (thrown) {
      // It may have been revoked already by a request whose response was lost: check the list.
      if (!(thrown instanceof PlatformError) || thrown.code !== "PLATFORM_REJECTED") throw thrown;
    }
    const left = await this.list();
    if (!idsOf(left).includes(authKeyId)) return next.gone(left);
    return this.retry(`The platform still lists ${authKeyId}.`);
  }

  /**
   * Whether an AuthKey must be the one whose creation response was lost: it did not exist before, was created since the
   * request, and was never used, since its secret is unknown.
   */
  isOrphan({ authKeyId, createdAtMs, lastUsedAtMs }: AuthKey): boolean {
    const { knownIds, askedAtMs, newId } = this.record;
    if (askedAtMs === undefined || newId !== undefined || knownIds.includes(authKeyId)) return false;
    return lastUsedAtMs === undefined && (createdAtMs === undefined || createdAtMs >= askedAtMs - clockDoubtMs);
  }
}

function revoked(authKeyId: string, reason: "rotated" | "replaced" | "lost" | "taken-back"): MoveEvent {
  return { type: "authkey.revoked", fields: { authKeyId, reason } };
}

// First half of an AuthKey rotation: checks the slots, frees one if needed, creates the new AuthKey and verifies it.

/** A new AuthKey may take a moment to be accepted everywhere. */
const proofs = 5;

async function begin(step: AuthKeyStep): Promise<AuthKeyResult> {
  const { deps, record } = step;
  const { profile, user, replaceId } = record;
  const keys = await step.list();
  const users = await deps.users.list(profile);
  const oldId = keyToReplace({ profile, user, keys, users, inUseHere: deps.inUseHere, replaceId });
  return replaceId === undefined
    ? move({ state: "creating", oldId, knownIds: idsOf(keys) })
    : move({ state: "making-room", oldId });
}

function makeRoom(step: AuthKeyStep): Promise<AuthKeyResult> {
  const { replaceId = "" } = step.record;
  return step.revokeUnused(replaceId, {
    used: giveUp(`${replaceId} has come into use and cannot be revoked.`),
    gone: (left) => move({ state: "creating", knownIds: idsOf(left) }, revoked(replaceId, "replaced")),
  });
}

async function create(step: AuthKeyStep): Promise<AuthKeyResult> {
  const { deps, record } = step;
  const { oldId = "", knownIds, rotationId, name } = record;
  const keys = await step.list();
  if (!idsOf(keys).includes(oldId)) return giveUp(`${oldId} no longer exists.`);
  const unknown = keys.find((key) => !knownIds.includes(key.authKeyId));
  if (unknown !== undefined) {
    const id = unknown.authKeyId;
    if (!step.isOrphan(unknown)) return giveUp(`Another program created the AuthKey ${id} during the rotation.`);
    return step.revokeUnused(id, {
      used: giveUp(`The AuthKey ${id}, which this rotation did not make, is in use.`),
      gone: () => move({ askedAtMs: undefined }, revoked(id, "lost")),
    });
  }
  await step.save({ askedAtMs: "now" });
  const made = await deps.account.create(step.signal);
  step.hold(made.authKey);
  const sealed = await deps.seal.seal(rotationId, { authKey: made.authKey });
  const { authKeyId } = made;
  const event = { type: "authkey.created", fields: { authKeyId } } as const;
  await deps.log.move(step.record, { state: "created", newId: authKeyId, sealed }, { events: [event] });
  const now = await deps.log.record(name);
  // Another process was faster, and the secret of this AuthKey is lost.
  if (now?.newId !== authKeyId) await deps.account.revoke(authKeyId, step.signal);
  return again;
}

async function prove(step: AuthKeyStep): Promise<AuthKeyResult> {
  const { record, deps } = step;
  const key = await step.newKey();
  try {
    await deps.account.prove(key);
  } catch (thrown) {
    if (!(thrown instanceof PlatformError) || thrown.code !== "PLATFORM_UNAUTHORIZED") throw thrown;
    if (record.tries + 1 >= proofs) return giveUp(`The new AuthKey is not accepted: ${thrown.message}`);
    return step.retry(thrown.message);
  }
  return move({ state: "verified" }, { type: "authkey.verified", fields: { authKeyId: key.authKeyId } });
}

// Delivers a verified AuthKey to the sinks, and waits until this process has loaded it from its secret file.

const pollIntervalMs = 1_000;

async function deliver(step: AuthKeyStep): Promise<AuthKeyResult> {
  const { profile, user = profile } = step.record;
  const { authKeyId, authKey } = await step.newKey();
  const handover = {
    rotation: `authkey-${user}`,
    profile,
    credentialsId: authKeyId,
    type: "auth-key",
    secrets: { authKey },
    constants: { authKeyId },
    field: undefined,
  };
  return handOverToAll(step, step.deps.sinks, handover, { type: "authkey.delivered", fields: { authKeyId } });
}

async function awaitTakeUp(step: AuthKeyStep): Promise<AuthKeyResult> {
  const { record, deps } = step;
  const { newId = "", oldId } = record;
  const inUse = deps.inUseHere();
  // Only the sinks know when another user's programs have taken it up.
  if (record.user === undefined && inUse !== newId) {
    const reason = `waiting until the credentials of ${record.profile} on this machine name ${newId}; they name ${inUse ?? "no AuthKey"} now`;
    return wait({ delayMs: pollIntervalMs, reason });
  }
  const keys = await step.list();
  const lastUsedAtMs = keys.find(({ authKeyId }) => authKeyId === oldId)?.lastUsedAtMs;
  return move({ state: "active", quietSinceMs: "now", lastUsedAtMs });
}

// Revokes an AuthKey: the old one once it is no longer used, or the new one if the rotation is rolled back.

const quietCheckMs = { min: 2_000, max: 60_000 };

async function awaitQuiet(step: AuthKeyStep): Promise<AuthKeyResult> {
  const { record, deps } = step;
  const { profile, oldId = "", quietSinceMs = 0, lastUsedAtMs = 0 } = record;
  const everyMs = Math.min(Math.max(deps.quietMs / 20, quietCheckMs.min), quietCheckMs.max);
  const key = (await step.list()).find(({ authKeyId }) => authKeyId === oldId);
  if (key === undefined) return move({ state: "revoked" });
  const workers = workersWith(oldId, await deps.users.list(profile));
  const isUsedHere = deps.inUseHere() === oldId;
  const usedAtMs = key.lastUsedAtMs ?? 0;
  if (workers.length > 0 || isUsedHere || usedAtMs > lastUsedAtMs) {
    const who = isUsedHere ? "this process" : workers.join(", ") || "another program";
    const reason = `waiting until ${oldId} is unused; ${who} still uses it`;
    const used: AuthKeyChange = usedAtMs > 0 ? { lastUsedAtMs: usedAtMs } : {};
    return wait<AuthKeyChange>({ delayMs: everyMs, reason, change: { quietSinceMs: "now", ...used } });
  }
  const leftMs = quietSinceMs + deps.quietMs - (await deps.log.nowMs());
  if (leftMs > 0) {
    const untilWhen = new Date(quietSinceMs + deps.quietMs).toISOString();
    const reason = `waiting until ${untilWhen}: ${oldId} is revoked then if it stays unused`;
    return wait({ delayMs: Math.min(everyMs, leftMs), reason });
  }
  return move({ state: "revoking" });
}

function revokeOld(step: AuthKeyStep): Promise<AuthKeyResult> {
  const { oldId = "" } = step.record;
  return step.revokeUnused(oldId, {
    used: move({ state: "active", quietSinceMs: "now" }),
    gone: () => move({ state: "revoked" }, revoked(oldId, "rotated")),
  });
}

function finish(step: AuthKeyStep): AuthKeyResult {
  const { oldId = "", newId = "" } = step.record;
  const rotated = { type: "authkey.rotated", fields: { authKeyId: newId, oldId } } as const;
  return move({ state: "done", finishedAtMs: "now", sealed: undefined }, rotated);
}

async function takeBack(step: AuthKeyStep): Promise<AuthKeyResult> {
  const { newId, oldId, failure = "no reason is known" } = step.record;
  const made = (await step.list()).find((key) => key.authKeyId === newId || step.isOrphan(key));
  if (made === undefined) return move(...failed(failure, oldId));
  const { authKeyId } = made;
  return step.revokeUnused(authKeyId, {
    used: wait({ delayMs: pollAgainMs, reason: `${authKeyId} is in use and is revoked once it is unused.` }),
    gone: () => move({}, revoked(authKeyId, "taken-back")),
  });
}

// The AuthKeys of the user that a profile authenticates as, or of a sub-user that this user may manage (interface,
// section 1: the Root user may manage all of them), and whether one can be rotated.

export type AuthKeyAccount = ReturnType<typeof authKeyAccount>;

/**
 * Calls for AuthKeys, which throw ConfigError if the platform definition lacks the operation.
 * @param of `purpose`: what a missing operation is needed for, as a sentence's start; `user`: absent, the profile's own
 */
export function authKeyAccount(
  client: Pick<PlatformClient, "call" | "whoAmI" | "prove">,
  { deployment, purpose, user }: { deployment: Deployment; purpose: string; user?: string | undefined },
) {
  const described = (id: DeploymentOperationId) => requireOperation(deployment, id, purpose);
  const fetchOwner = async (signal: AbortSignal | undefined) => {
    const { operatorId, userName } = await client.whoAmI(signal);
    return { operatorId, userName: user ?? userName };
  };
  return {
    /** @throws PlatformError; ConfigError if the platform definition defines no path for a sub-user's AuthKeys */
    list: async (signal?: AbortSignal) =>
      client.call(listAuthKeys(described("listAuthKeys"), await fetchOwner(signal)), undefined, { signal }),

    /** @throws PlatformError, with `mayHaveApplied` if the platform may have created an AuthKey whose secret is lost */
    create: async (signal?: AbortSignal) =>
      client.call(createAuthKey(described("createAuthKey"), await fetchOwner(signal)), undefined, { signal }),

    /** @throws PlatformError PLATFORM_REJECTED also if the AuthKey no longer exists */
    revoke: async (authKeyId: string, signal?: AbortSignal) =>
      client.call(revokeAuthKey(described("revokeAuthKey"), await fetchOwner(signal)), { authKeyId }, { signal }),

    /** Authenticates once with an AuthKey. @throws PlatformError PLATFORM_UNAUTHORIZED if the platform rejects it */
    prove: async (key: CreatedAuthKey): Promise<void> => void (await client.prove({ kind: "auth-key", ...key })),
  };
}

/** AuthKeys that each user can have (interface, section 8). */
const slots = 2;

interface Situation extends KeyUser, Pick<AuthKeyDeps, "inUseHere"> {
  readonly keys: readonly AuthKey[];
  /** Live processes and the AuthKey each uses. */
  readonly users: readonly AuthKeyUser[];
  /** The AuthKey that the user named to be revoked first. */
  readonly replaceId: string | undefined;
}

/**
 * The AuthKey that a rotation replaces: the one that this process uses; of a sub-user's two, the one used last.
 * @throws SimfleetError ROTATION_STATE_CONFLICT with the obstacle
 */
export function keyToReplace(now: Situation): string {
  const { profile, user, keys, users, inUseHere, replaceId } = now;
  const others = keys.filter(({ authKeyId }) => authKeyId !== replaceId);
  const lastUsed = others.toSorted((a, b) => (b.lastUsedAtMs ?? 0) - (a.lastUsedAtMs ?? 0))[0]?.authKeyId;
  const oldId = user === undefined ? inUseHere() : lastUsed;
  const known = idsOf(keys);
  if (oldId === undefined) {
    const none = `The profile ${profile} does not authenticate with an AuthKey, so there is no AuthKey to rotate.`;
    throw conflict(user === undefined ? none : `The user ${user} has no AuthKey that could be rotated.`);
  }
  if (!known.includes(oldId)) {
    throw conflict(
      `The AuthKey ${oldId} of the profile ${profile} is not in the platform's list (${known.join(", ")}).`,
    );
  }
  if (replaceId === undefined) {
    if (known.length >= slots) throw conflict(bothTaken(now, oldId));
    return oldId;
  }
  if (replaceId === oldId && user === undefined) {
    throw conflict(`${replaceId} is in use here and cannot be revoked first. Choose another with --replace.`);
  }
  if (!known.includes(replaceId)) throw conflict(`There is no AuthKey ${replaceId}; there are ${known.join(", ")}.`);
  const [worker] = workersWith(replaceId, users);
  if (worker === undefined) return oldId;
  throw conflict(`${replaceId} is in use by ${worker} and cannot go first. Let that process use another one.`);
}

function conflict(message: string): SimfleetError {
  return new SimfleetError("ROTATION_STATE_CONFLICT", message);
}

function bothTaken({ user, keys, users }: Situation, oldId: string): string {
  const workers = (id: string): string => workersWith(id, users).join(", ");
  const lines = keys.map(({ authKeyId, createdAtMs, lastUsedAtMs }) => {
    const by = authKeyId === oldId && user === undefined ? "here" : workers(authKeyId) && `by ${workers(authKeyId)}`;
    const [created, lastUsed] = [createdAtMs, lastUsedAtMs].map((atMs) => isoTime(atMs) ?? "never or unknown");
    return `${authKeyId} (created ${created}, last used ${lastUsed}${by && `, in use ${by}`})`;
  });
  const spare = idsOf(keys).find((id) => id !== oldId && workers(id) === "");
  const fix = spare === undefined ? "" : ` To revoke one first, add --replace ${spare}.`;
  return `The user already has two AuthKeys, the maximum: ${lines.join("; ")}.${fix}`;
}

function idsOf(keys: readonly AuthKey[]): string[] {
  return keys.map(({ authKeyId }) => authKeyId);
}

export function workersWith(authKeyId: string, users: readonly AuthKeyUser[]): string[] {
  return users.filter((user) => user.authKeyId === authKeyId).map(({ worker }) => worker);
}

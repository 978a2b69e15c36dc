/**
 * Processes the rotations of a profile: advances each as far as possible, and returns when to poll again. A rotation
 * continues from its record only, so it does not matter which process does it, or how the previous one ended.
 */
import type { CredentialInput, CredentialSet } from "#api/operations/credentials.ts";
import { ConfigError, SimfleetError, PlatformError, messageOf } from "#core/errors.ts";
import { Secret } from "#core/secrets/secret.ts";
import { dayMs, every, minuteMs, secondMs } from "#core/time.ts";
import { type FaultRules, faultRules, retryRule } from "#engine/fault-policy.ts";
import type { MoveEvent } from "#engine/move-record.ts";
import { nextProblem } from "#engine/problem.ts";
import type { Feed } from "#events/feed.ts";
import type { Incident, WorkResult } from "#engine/queue/job-result.ts";
import { newWorkId } from "#engine/record.ts";
import { type StepResult, type Steps, giveUp, move, wait } from "#engine/steps.ts";
import { requireOperations } from "#fleet/required-operation.ts";
import { isSetOf, successorId } from "#fleet/rotation.ts";
import { type AccountSets, type RotationAccount, accountSets, feature, isDoubtful } from "./account-sets.ts";
import type { Rotation } from "./config.ts";
import { newSecret } from "./new-secret.ts";
import { SinkError, type SinkDeps, sinkFault } from "./sinks.ts";
import type { RotationChange, RotationLog, RotationRecord, RotationState } from "./record.ts";
import { entriesRenamed, placesOf, reasonToKeep, type Reference, referencesIn } from "./references.ts";
import { type RotationDeps, RotationStep, handOverToAll, isRotationOver, runRotation } from "./rotation-machine.ts";

export interface RotationContext extends RotationDeps<RotationRecord> {
  readonly log: RotationLog;
  readonly feed: Pick<Feed, "emitOnce">;
  readonly origins: Pick<SinkDeps, "commands" | "readSecretFile">;
  /** The configured ones by name, of all profiles. */
  readonly rotations: Readonly<Record<string, Rotation>>;
  readonly accountFor: (profile: string) => RotationAccount;
}

/** `signal` aborts when this process stops or has lost the job. */
type Terms = Readonly<{ signal: AbortSignal; emit: (incident: Incident) => void }>;
type RotationResult = StepResult<RotationChange>;

class CredentialStep extends RotationStep<RotationRecord, RotationContext> {
  readonly rotation: Rotation;
  readonly sets: AccountSets;

  constructor(record: RotationRecord, rotation: Rotation, deps: RotationContext, signal: AbortSignal) {
    super(record, deps, signal);
    this.rotation = rotation;
    this.sets = accountSets(deps.accountFor(record.profile), signal);
  }

  get nowMs(): number {
    return this.deps.clock.wallMs();
  }
}

/** @throws errors of the store; the queue then retries the job */
export async function workOnRotations(profile: string, context: RotationContext, terms: Terms): Promise<WorkResult> {
  const { signal } = terms;
  for (;;) {
    if (signal.aborted) return { kind: "handed-back" };
    const inProgress = await context.log.inProgress(profile);
    if (inProgress.length === 0) return { kind: "ended" };
    const nowMs = context.clock.wallMs();
    const due = inProgress.filter(({ nextAtMs }) => nextAtMs <= nowMs);
    if (due.length === 0) {
      const delayMs = Math.min(...inProgress.map(({ nextAtMs }) => nextAtMs)) - nowMs;
      return { kind: "postponed", delayMs, scope: "job", reason: "rotations wait" };
    }
    for (const { name } of due) {
      if (!signal.aborted) await workOnRotation(name, context, terms);
    }
  }
}

/** Whether the profile's rotations have work now (`due`), later (`waiting`), or none. */
export async function statusOf(profile: string, context: RotationContext): Promise<"none" | "waiting" | "due"> {
  const nowMs = context.clock.wallMs();
  const inProgress = await context.log.inProgress(profile);
  if (inProgress.some(({ nextAtMs }) => nextAtMs <= nowMs)) return "due";
  return inProgress.length > 0 ? "waiting" : "none";
}

async function workOnRotation(name: string, context: RotationContext, { signal, emit }: Terms): Promise<void> {
  const { log, clock } = context;
  const rotation = Object.hasOwn(context.rotations, name) ? context.rotations[name] : undefined;
  if (rotation === undefined) return waitForConfiguration(name, context, emit);
  await runRotation<RotationRecord, CredentialStep>(
    {
      ...context,
      open: async () => {
        const record = await log.record(name);
        const isDue = record !== undefined && record.nextAtMs <= clock.wallMs();
        return isDue ? new CredentialStep(record, rotation, context, signal) : undefined;
      },
      steps,
      rulesFor,
      giveUp: (_, failure) => [{ state: "rolling-back", failure }],
      quarantined: (_, reason) => ({ type: "credential.quarantined", fields: { reason } }),
      resumeCommand: () => `simfleet credentials rotate ${name}`,
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
  delivered: putOnPlatform,
  created: repoint,
  updated: verifyUpdate,
  switched: retire,
  "rolling-back": rollBack,
};

const pollAgainMs = 10 * minuteMs;
const rules = faultRules({
  PLATFORM_RATE_LIMITED: { delay: secondMs, retryAfter: "replaces", sleepUpToMs: 2 * secondMs },
  PLATFORM_UNAVAILABLE: { delay: 5 * secondMs },
  SINK_FAILED: { ...retryRule, maxTries: 6 },
});
const finalSinkRules: FaultRules = { SINK_FAILED: "give-up" };
/** The new secret is active, or is being rolled back: it waits for a user instead of rolling back. */
const rejectedLater: FaultRules = {
  ...rules,
  PLATFORM_REJECTED: { delay: pollAgainMs },
  PLATFORM_RESPONSE_INVALID: { delay: pollAgainMs },
};
const beyondReturn: ReadonlySet<RotationState> = new Set(["updated", "switched", "rolling-back"]);

function rulesFor({ state }: RotationRecord, fault: unknown): FaultRules {
  if (fault instanceof SinkError && fault.isFinal) return finalSinkRules;
  return beyondReturn.has(state) ? rejectedLater : rules;
}

// Checks the age of secrets whose rotation has a maximum age, and reports each older one once a month.

const ageIntervalMs = 60 * minuteMs;
/** Shorter than the interval, so that the process that has looked does so again after it. */
const ageClaimMs = 55 * minuteMs;

/** Checks the ages now and then every hour, in one process for all. @returns stops it */
export function watchAges(profile: string, context: RotationContext, emit: Terms["emit"]): () => void {
  const stopping = new AbortController();
  const { signal } = stopping;
  const isNeeded = rotationsOf(profile, context.rotations).some(({ maxAgeMs }) => maxAgeMs !== undefined);
  const check = async (): Promise<void> => {
    try {
      if (isNeeded && (await context.log.claimAges(profile, ageClaimMs))) await checkAges(profile, context, signal);
    } catch (thrown) {
      if (!signal.aborted) emit({ message: `the age of the secrets of ${profile} is not known: ${messageOf(thrown)}` });
    }
  };
  void check();
  const stopChecking = every(ageIntervalMs, () => void check());
  return () => {
    stopChecking();
    stopping.abort();
  };
}

/** @throws errors of the store; PlatformError */
export async function checkAges(profile: string, context: RotationContext, signal: AbortSignal): Promise<void> {
  const { log, clock, feed } = context;
  const account = accountSets(context.accountFor(profile), signal);
  let listed: ReturnType<typeof account.list> | undefined;
  for (const rotation of rotationsOf(profile, context.rotations)) {
    const record = await log.record(rotation.name);
    if (rotation.maxAgeMs === undefined || (record !== undefined && !isRotationOver(record))) continue;
    const sets = await (listed ??= account.list());
    const { credentialsId, createdAtMs = 0, updatedAtMs = 0 } = currentSet(rotation, record, sets) ?? {};
    const sinceMs = Math.max(createdAtMs, updatedAtMs);
    if (credentialsId === undefined || sinceMs === 0 || clock.wallMs() - sinceMs < rotation.maxAgeMs) continue;
    const fields = { rotation: rotation.name, credentialsId, since: new Date(sinceMs).toISOString() };
    const event = { type: "credential.expiring", profile, fields } as const;
    await feed.emitOnce(event, `${event.type}:${Object.values(fields).join(":")}`);
  }
}

// The first steps of every rotation: generates and encrypts the new secret, then delivers it to every sink.

/** planned -> generated. If a generated secret was not saved, it is lost, and a new one is generated. */
async function makeSecret(step: CredentialStep): Promise<RotationResult> {
  const { rotation, deps, signal, record } = step;
  const { credentialTypes } = deps.accountFor(record.profile).deployment;
  const secrets = await newSecret(rotation, credentialTypes, deps.origins, signal);
  step.hold(...Object.values(secrets));
  return move({ state: "generated", sealed: await deps.seal.seal(record.rotationId, secrets) });
}

async function deliver(step: CredentialStep): Promise<RotationResult> {
  const { name, profile, constants, generate, from, sinks } = step.rotation;
  const { newId: credentialsId, type } = step.record;
  const given = { secrets: await step.secrets(), constants, field: (generate ?? from)?.field };
  const handover = { rotation: name, profile, credentialsId, type, ...given };
  return handOverToAll(step, sinks, handover, { type: "credential.handed-over", fields: {} });
}

// The steps that send the new secret to the platform. After a lost response, or a rejection that follows one, they
// check whether the set exists and was created by this rotation: its description contains the rotation's id.

/** Maximum clock difference for attributing a set to this rotation by its creation time. */
const maxClockDriftMs = 10 * minuteMs;
/** The platform reports update times in seconds: two updates in the same second cannot be distinguished. */
const untilUpdateShowsMs = 1_100;
const maxRepeatsAtOnce = 5;

/** delivered -> created: creates the successor. In-place -> updated, or -> done where there was no set before. */
async function putOnPlatform(step: CredentialStep): Promise<RotationResult> {
  const { strategy, oldId, newId, updatedBeforeMs } = step.record;
  const created = { type: "credential.created", fields: { credentialsId: newId, strategy } } as const;
  if (strategy === "successor" || oldId === undefined) {
    await send(step, "create");
    return strategy === "successor" ? move({ state: "created" }, created) : finishInPlace(step, created);
  }
  if (updatedBeforeMs === undefined) {
    const before = await step.sets.find(newId);
    if (before === undefined) return giveUp(`the Credential Set ${newId} is gone`);
    // Saved before the call, so that a resumed rotation compares with the time before the first attempt.
    await step.save({ updatedBeforeMs: before.updatedAtMs ?? 0 });
  }
  await send(step, "update");
  return move({ state: "updated" }, created);
}

/** updated -> done, when the set's update time has changed. */
async function verifyUpdate(step: CredentialStep): Promise<RotationResult> {
  const { newId, updatedBeforeMs, tries } = step.record;
  const found = await step.sets.find(newId);
  if (found === undefined) {
    const reason = `the Credential Set ${newId} is gone after it was updated`;
    return wait({ isProblem: true, reason, delayMs: pollAgainMs });
  }
  // If the platform reports no update times, its success response must suffice.
  if (found.updatedAtMs === undefined || found.updatedAtMs !== updatedBeforeMs) return finishInPlace(step);
  await send(step, "update");
  const delayMs = tries < maxRepeatsAtOnce ? untilUpdateShowsMs : pollAgainMs;
  const reason = `the platform has taken the update of ${newId} and does not show it yet`;
  return wait({ isProblem: true, reason, delayMs, tries: tries + 1 });
}

function finishInPlace(step: CredentialStep, ...events: readonly MoveEvent[]): RotationResult {
  return finish(step, { currentId: step.record.newId, rotatedAtMs: step.nowMs }, ...events);
}

/** Sends the new secret. A failure does not count if this attempt or an earlier one, its response lost, succeeded. */
async function send(step: CredentialStep, how: "create" | "update"): Promise<void> {
  const { record, rotation, sets } = step;
  const secrets = await step.secrets();
  // Constants are not secret, but are handled like secrets during a call.
  const constants = Object.entries(rotation.constants).map(([name, value]) => [name, new Secret(value)] as const);
  const mark = `(simfleet ${record.rotationId})`;
  const input: CredentialInput = {
    credentialsId: record.newId,
    description: rotation.description === undefined ? mark : `${rotation.description} ${mark}`,
    type: record.type,
    credentials: { ...secrets, ...Object.fromEntries(constants) },
  };
  try {
    await sets[how](input);
  } catch (thrown) {
    const found = isDoubtful(thrown) ? await sets.find(record.newId) : undefined;
    if (found === undefined) throw thrown;
    const { updatedAtMs } = found;
    const isUpdated = updatedAtMs !== undefined && updatedAtMs !== record.updatedBeforeMs;
    if (how === "create" ? !isOurs(found, record) : !isUpdated) throw thrown;
  } finally {
    for (const [, constant] of constants) constant.forget();
  }
}

/** Whether this rotation created the set; decided by the creation time if the platform reports no descriptions. */
function isOurs(found: CredentialSet, { rotationId, startedAtMs }: RotationRecord): boolean {
  if (found.description !== undefined) return found.description.includes(rotationId);
  return found.createdAtMs === undefined || found.createdAtMs >= startedAtMs - maxClockDriftMs - secondMs;
}

// The steps that replace the old set by its successor: everything that refers to it is changed to refer to the new one,
// by simfleet or manually, and it is deleted after it was unused for the grace period. It is never deleted while
// anything refers to it or while the new set does not exist.

/** Limits the rounds if someone else edits groups at the same time. */
const maxRounds = 3;
/** How often the last use is checked during the grace period. */
const watchEveryMs = 60 * minuteMs;

async function repoint(step: CredentialStep): Promise<RotationResult> {
  const { name, oldId, newId, confirmedAtMs } = step.record;
  if (oldId === undefined) return switched(step, step.nowMs);
  if (!step.sets.can("listGroups")) {
    if (confirmedAtMs !== undefined) return switched(step, confirmedAtMs);
    const what = `replace ${oldId} with ${newId} wherever it is referenced`;
    return askFor(step, "confirmation", `${what}, then run: simfleet credentials confirm ${name}`);
  }
  for (let round = 0; round < maxRounds; round += 1) {
    const left = await repointGroups(step, oldId, newId);
    const named = left.filter(({ how }) => how === "id");
    if (named.length === 0) return switched(step, step.nowMs, left);
    if (step.sets.can("putGroupConfiguration")) continue;
    const what = `replace ${oldId} with ${newId} in ${placesOf(named)}`;
    return askFor(step, "reference", `${what}: the platform definition does not describe putGroupConfiguration`);
  }
  const reason = `groups start to reference ${oldId} again while their references are updated`;
  return wait({ isProblem: true, reason, delayMs: pollAgainMs });
}

/**
 * Checks all groups once, and replaces references to one set by references to the other, if the definition allows it.
 * @returns the references that were found to the first set
 */
async function repointGroups(step: CredentialStep, from: string, to: string): Promise<Reference[]> {
  const found: Reference[] = [];
  const canPut = step.sets.can("putGroupConfiguration");
  for await (const group of step.sets.groups()) {
    const references = referencesIn(group, from);
    found.push(...references);
    if (!canPut || !references.some(({ how }) => how === "id")) continue;
    // Saved first, so that the report contains every group that may have been changed.
    const { groups } = step.record;
    if (!groups.includes(group.groupId)) await step.save({ groups: [...groups, group.groupId] });
    for (const { namespace, entries } of entriesRenamed(group, from, to)) {
      await step.sets.configure(group.groupId, namespace, entries);
    }
  }
  return found;
}

/** After this move nothing is rolled back: the new set is active. */
function switched(step: CredentialStep, quietSinceMs: number, left: readonly Reference[] = []): RotationResult {
  const { oldId, newId, groups } = step.record;
  const repointed = { oldId, credentialsId: newId, groups: groups.join(", ") };
  return move(
    { state: "switched", quietSinceMs, currentId: newId, rotatedAtMs: step.nowMs },
    { type: "credential.repointed", fields: repointed },
    ...(oldId === undefined || left.length === 0 ? [] : [unconfirmed(step, reasonToKeep(oldId, left))]),
  );
}

/** Waits until a user, or another program, has replaced the references. */
function askFor(step: CredentialStep, waitsFor: "confirmation" | "reference", reason: string): RotationResult {
  const delayMs = waitsFor === "confirmation" ? dayMs : pollAgainMs;
  return wait({ change: { waitsFor }, reason, delayMs, events: [unconfirmed(step, reason)] });
}

function unconfirmed({ record: { oldId, newId } }: CredentialStep, reason: string): MoveEvent {
  return { type: "credential.unconfirmed", fields: { oldId, credentialsId: newId, reason } };
}

async function retire(step: CredentialStep): Promise<RotationResult> {
  const { oldId, newId } = step.record;
  if (oldId === undefined) return finish(step, {});
  const unused = { type: "credential.unused", fields: { oldId } } as const;
  const sets = await step.sets.list();
  const old = sets.find((set) => set.credentialsId === oldId);
  // Deleted by one of our calls whose response was lost, or manually.
  if (old === undefined) return finish(step, {}, unused);
  if (!sets.some((set) => set.credentialsId === newId)) {
    const reason = `the new Credential Set ${newId} is gone, so ${oldId} is kept`;
    return wait({ isProblem: true, reason, delayMs: pollAgainMs, events: [unconfirmed(step, reason)] });
  }
  const grace = await awaitGrace(step, oldId, old.lastUsedAtMs);
  if (grace !== undefined) return grace;
  const left = await step.sets.references(oldId);
  if (left.length > 0) return askFor(step, "reference", reasonToKeep(oldId, left));
  const obstacle = await step.sets.remove(oldId);
  if (obstacle === undefined) return finish(step, {}, unused);
  const reason = `${oldId} must be deleted manually: ${obstacle}`;
  return finish(step, { reason }, unused, leftBehind(oldId, obstacle));
}

/** Waits for the end of the grace period, which each use of the old set restarts; undefined when it is over. */
async function awaitGrace(step: CredentialStep, oldId: string, lastUsedAtMs = 0): Promise<RotationResult | undefined> {
  const since = step.record.quietSinceMs ?? step.nowMs;
  if (lastUsedAtMs > since) {
    const lastUsedAt = new Date(lastUsedAtMs).toISOString();
    await step.save({ quietSinceMs: lastUsedAtMs }, [{ type: "credential.in-use", fields: { oldId, lastUsedAt } }]);
  }
  const endsAtMs = Math.max(since, lastUsedAtMs) + step.rotation.graceMs;
  const leftMs = endsAtMs - step.nowMs;
  if (leftMs <= 0) return undefined;
  const reason = `${oldId} is deleted if it stays unused until ${new Date(endsAtMs).toISOString()}`;
  return wait({ change: { waitsFor: "grace" }, reason, delayMs: Math.min(leftMs, watchEveryMs) });
}

function leftBehind(credentialsId: string, reason: string): MoveEvent {
  return { type: "credential.orphaned", fields: { credentialsId, reason } };
}

function finish(step: CredentialStep, change: RotationChange, ...events: readonly MoveEvent[]): RotationResult {
  const { strategy, oldId, newId } = step.record;
  const fields = { credentialsId: newId, oldId: strategy === "in-place" ? newId : oldId };
  const rotated = { type: "credential.rotated", fields } as const;
  return move({ state: "done", finishedAtMs: step.nowMs, sealed: undefined, ...change }, ...events, rotated);
}

// rolling-back -> failed: groups refer to the old set again, and the successor is deleted if nothing refers to it. A
// sink cannot return the new value: sinks that already have it are reported.

async function rollBack(step: CredentialStep): Promise<RotationResult> {
  const { strategy, failure: reason = "", handedToNames } = step.record;
  const obstacle = strategy === "successor" ? await withdraw(step) : undefined;
  const failed = { type: "credential.failed", fields: { reason, sinks: handedToNames.join(", ") } } as const;
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
      if (oldId !== undefined) await repointGroups(step, newId, oldId);
    } catch (thrown) {
      const isRefused = thrown instanceof PlatformError && thrown.disposition === "never" && thrown.exitCode !== 3;
      if (!isRefused) throw thrown;
    }
    const named = (await step.sets.references(newId)).filter(({ how }) => how === "id");
    if (named.length > 0) return `${placesOf(named)} names it`;
  }
  return step.sets.remove(newId);
}

// Checks in advance everything that could prevent a rotation from completing: the operations of the platform
// definition, the sinks, and the account's sets.

const needed = { successor: ["listCredentials"], "in-place": ["listCredentials", "updateCredential"] } as const;

/**
 * The initial record of a rotation.
 * @param terms `record` is that of the previous rotation
 * @throws ConfigError for operations that the platform definition lacks and for unusable sinks
 * @throws SimfleetError ROTATION_STATE_CONFLICT if the account's sets do not allow it; PlatformError
 */
export async function planRotation(
  rotation: Rotation,
  terms: { account: RotationAccount; record: RotationRecord | undefined; nowMs: number },
  signal: AbortSignal,
) {
  const { account, record, nowMs } = terms;
  const { name, profile, strategy, type, credentialsId } = rotation;
  requireOperations(account.deployment, needed[strategy], feature);
  const faults = await Promise.all(rotation.sinks.map(sinkFault));
  const problems = faults.flatMap((fault, i) =>
    fault === undefined
      ? []
      : [{ where: `rotations.${name}.sinks.${i}`, message: `${fault}. Nothing has happened yet.` }],
  );
  if (problems.length > 0) throw new ConfigError(problems);
  const platform = accountSets(account, signal);
  const sets = await platform.list();
  const current = currentSet(rotation, record, sets);
  if (current !== undefined && current.type !== undefined && current.type !== type) {
    throw refused(
      `the Credential Set ${current.credentialsId} is of type ${current.type}, and rotations.${name}.type says ${type}`,
    );
  }
  const head = { name, profile, strategy, type, rotationId: newWorkId("t", nowMs, 6), startedAtMs: nowMs };
  const isInPlace = strategy === "in-place";
  if (isInPlace && sets.some((set) => set.credentialsId === credentialsId)) {
    return { ...head, oldId: credentialsId, newId: credentialsId };
  }
  if (sets.length >= account.maxSets) {
    throw refused(
      `the account has ${sets.length} Credential Sets and may have ${account.maxSets}, so there is no room for another: delete one that nothing uses (simfleet credentials list), or raise limits.credentialSets if support has raised the limit`,
    );
  }
  if (isInPlace) return { ...head, newId: credentialsId };
  const taken = new Set(sets.map((set) => set.credentialsId));
  // Groups can refer to a set that does not exist (yet): they are changed to refer to the first one that does.
  const isNamed = current === undefined && (await platform.references(credentialsId)).length > 0;
  const oldId = current?.credentialsId ?? (isNamed ? credentialsId : undefined);
  return { ...head, oldId, newId: successorId(credentialsId, nowMs, taken) };
}

export function rotationsOf(profile: string, rotations: Readonly<Record<string, Rotation>>): Rotation[] {
  return Object.values(rotations).filter((one) => one.profile === profile);
}

/** The active set: the one of the previous rotation, otherwise the newest that belongs to this rotation. */
export function currentSet(
  rotation: Rotation,
  record: Pick<RotationRecord, "currentId"> | undefined,
  sets: readonly CredentialSet[],
): CredentialSet | undefined {
  const own = sets.filter((set) => isSetOf(rotation, set.credentialsId));
  const known = own.find((set) => set.credentialsId === record?.currentId);
  // Successors are sorted by time, after the first set.
  return known ?? own.toSorted((a, b) => (a.credentialsId < b.credentialsId ? 1 : -1))[0];
}

export function refused(message: string): SimfleetError {
  return new SimfleetError("ROTATION_STATE_CONFLICT", `${message}. Nothing has happened yet`);
}

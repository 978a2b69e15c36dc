/**
 * The steps that send the new secret to the platform. After a lost response, or a rejection that follows one, they check
 * whether the set exists and was created by this rotation: its description contains the rotation's id.
 */
import type { CredentialInput, CredentialSet } from "#api/operations/credentials.ts";
import { PlatformError } from "#core/errors.ts";
import { Secret } from "#core/secret.ts";
import { minuteMs, secondMs } from "#core/time.ts";
import type { MoveEvent } from "#engine/move-record.ts";
import { giveUp, move, wait } from "#engine/steps.ts";
import type { RotationRecord } from "../record.ts";
import type { CredentialStep, RotationResult } from "./credential-step.ts";

/** Maximum clock difference for attributing a set to this rotation by its creation time. */
const maxClockDriftMs = 10 * minuteMs;
/** The platform reports update times in seconds: two updates in the same second cannot be distinguished. */
const untilUpdateShowsMs = 1_100;
const maxRepeatsAtOnce = 5;
const laterMs = 10 * minuteMs;

/** delivered -> created: creates the successor. */
export async function createSuccessor(step: CredentialStep): Promise<RotationResult> {
  await create(step);
  return move({ state: "created" }, createdEvent(step));
}

function createdEvent({ record: { newId, strategy } }: CredentialStep): MoveEvent {
  return { type: "credential.created", fields: { credentialsId: newId, strategy } };
}

/** delivered -> updated: updates the set itself with the new secret. Without a set yet, -> done: creates it. */
export async function updateInPlace(step: CredentialStep): Promise<RotationResult> {
  if (step.record.oldId === undefined) {
    await create(step);
    return finishInPlace(step, createdEvent(step));
  }
  if (step.record.updatedBeforeMs === undefined) {
    const before = await step.sets.find(step.record.newId);
    if (before === undefined) return giveUp(`the Credential Set ${step.record.newId} is gone`);
    // Saved before the call, so that a resumed rotation compares with the time before the first attempt.
    await step.save({ updatedBeforeMs: before.updatedAtMs ?? 0 });
  }
  await update(step);
  return move({ state: "updated" }, createdEvent(step));
}

/** updated -> done, when the set's update time has changed. */
export async function verifyUpdate(step: CredentialStep): Promise<RotationResult> {
  const { newId, updatedBeforeMs, tries } = step.record;
  const found = await step.sets.find(newId);
  if (found === undefined) {
    const reason = `the Credential Set ${newId} is gone after it was updated`;
    return wait({ isProblem: true, reason, delayMs: laterMs });
  }
  // If the platform reports no update times, its success response must suffice.
  if (found.updatedAtMs === undefined || found.updatedAtMs !== updatedBeforeMs) return finishInPlace(step);
  await update(step);
  const delayMs = tries < maxRepeatsAtOnce ? untilUpdateShowsMs : laterMs;
  const reason = `the platform has taken the update of ${newId} and does not show it yet`;
  return wait({ isProblem: true, reason, delayMs, tries: tries + 1 });
}

function finishInPlace({ record: { newId }, nowMs }: CredentialStep, ...before: readonly MoveEvent[]): RotationResult {
  const rotated = { type: "credential.rotated", fields: { credentialsId: newId, oldId: newId } } as const;
  const active = { currentId: newId, rotatedAtMs: nowMs };
  return move({ state: "done", finishedAtMs: nowMs, sealed: undefined, ...active }, ...before, rotated);
}

function create(step: CredentialStep): Promise<void> {
  return send(step, "create", (found) => isOurs(found, step.record));
}

function update(step: CredentialStep): Promise<void> {
  const { updatedBeforeMs } = step.record;
  return send(step, "update", ({ updatedAtMs }) => updatedAtMs !== undefined && updatedAtMs !== updatedBeforeMs);
}

/**
 * Sends the new secret. A failure does not count if this attempt or an earlier one, whose response was lost, has succeeded.
 * @param hasIt whether the set that the platform has shows that
 */
async function send(step: CredentialStep, how: "create" | "update", hasIt: (found: CredentialSet) => boolean) {
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
    if (!isDoubtful(thrown)) throw thrown;
    const found = await sets.find(record.newId);
    if (found === undefined || !hasIt(found)) throw thrown;
  } finally {
    for (const [, constant] of constants) constant.forget();
  }
}

/** Whether the call may have been applied, now or in an earlier attempt. */
function isDoubtful(thrown: unknown): boolean {
  if (!(thrown instanceof PlatformError)) return false;
  return thrown.mayHaveApplied || thrown.code === "PLATFORM_REJECTED" || thrown.code === "PLATFORM_RESPONSE_INVALID";
}

/** Whether this rotation created the set; decided by the creation time if the platform reports no descriptions. */
export function isOurs(found: CredentialSet, { rotationId, startedAtMs }: RotationRecord): boolean {
  if (found.description !== undefined) return found.description.includes(rotationId);
  return found.createdAtMs === undefined || found.createdAtMs >= startedAtMs - maxClockDriftMs - secondMs;
}

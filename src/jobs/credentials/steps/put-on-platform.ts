/**
 * The steps that send the new secret to the platform. After a lost response, or a rejection that follows one, they check
 * whether the set exists and was created by this rotation: its description contains the rotation's id.
 */
import type { CredentialInput, CredentialSet } from "#api/operations/credentials.ts";
import { PlatformError } from "#core/errors.ts";
import { Secret } from "#core/secret.ts";
import { minuteMs, secondMs } from "#core/time.ts";
import type { RotationChange, RotationRecord } from "../record.ts";
import type { Turn } from "./turn.ts";

/** Maximum clock difference for attributing a set to this rotation by its creation time. */
const mostClockDriftMs = 10 * minuteMs;
/** The platform reports update times in seconds: two updates in the same second cannot be distinguished. */
const untilUpdateShowsMs = 1_100;
const mostRepeatsAtOnce = 5;
const laterMs = 10 * minuteMs;

/** handed-over -> created: creates the successor. */
export async function createSuccessor(turn: Turn): Promise<void> {
  const { newId } = turn.record;
  await withInput(turn, async (input) => {
    try {
      await turn.sets.create(input);
    } catch (thrown) {
      if (!isDoubtful(thrown)) throw thrown;
      const found = await turn.sets.find(newId);
      if (found === undefined || !isOurs(found, turn.record)) throw thrown;
    }
  });
  await turn.move({ state: "created" }, [
    { type: "credential.created", fields: { credentialsId: newId, strategy: "successor" } },
  ]);
}

/** handed-over -> updated: updates the set itself with the new secret. */
export async function updateInPlace(turn: Turn): Promise<void> {
  if (turn.record.updatedBeforeMs === undefined) {
    const before = await turn.sets.find(turn.record.newId);
    if (before === undefined) return turn.giveUp(`the Credential Set ${turn.record.newId} is gone`);
    // Saved before the call, so that a resumed rotation compares with the time before the first attempt.
    await turn.move({ updatedBeforeMs: before.updatedAtMs ?? 0 });
  }
  await sendUpdate(turn);
  await turn.move({ state: "updated" }, [
    { type: "credential.created", fields: { credentialsId: turn.record.newId, strategy: "in-place" } },
  ]);
}

/** updated -> done, when the set's update time has changed. */
export async function verifyUpdate(turn: Turn): Promise<void> {
  const { newId, updatedBeforeMs, tries } = turn.record;
  const found = await turn.sets.find(newId);
  if (found === undefined) {
    const reason = `the Credential Set ${newId} is gone after it was updated`;
    return turn.wait({ waitsFor: "fault", reason, delayMs: laterMs });
  }
  // If the platform reports no update times, its success response must suffice.
  if (found.updatedAtMs === undefined || found.updatedAtMs !== updatedBeforeMs) return finishInPlace(turn);
  await sendUpdate(turn);
  const delayMs = tries < mostRepeatsAtOnce ? untilUpdateShowsMs : laterMs;
  const reason = `the platform has taken the update of ${newId} and does not show it yet`;
  await turn.wait({ waitsFor: "fault", reason, delayMs, tries: tries + 1 });
}

async function finishInPlace(turn: Turn): Promise<void> {
  const { newId } = turn.record;
  const done: RotationChange = {
    ...{ finishedAtMs: turn.nowMs, sealed: undefined, currentId: newId, rotatedAtMs: turn.nowMs },
    ...{ expiryReportedOf: undefined, expiryCheckAtMs: undefined },
    state: "done",
  };
  await turn.move(done, [{ type: "credential.rotated", fields: { credentialsId: newId, oldId: newId } }]);
}

/** Sends the update. A rejection does not count if an earlier attempt, whose response was lost, may have succeeded. */
async function sendUpdate(turn: Turn): Promise<void> {
  const { newId, updatedBeforeMs } = turn.record;
  await withInput(turn, async (input) => {
    try {
      await turn.sets.update(input);
    } catch (thrown) {
      if (!isDoubtful(thrown)) throw thrown;
      const found = await turn.sets.find(newId);
      if (found?.updatedAtMs === undefined || found.updatedAtMs === updatedBeforeMs) throw thrown;
    }
  });
}

/** Whether the call may have been applied, now or in an earlier attempt. */
function isDoubtful(thrown: unknown): boolean {
  if (!(thrown instanceof PlatformError)) return false;
  return thrown.mayHaveApplied || thrown.code === "PLATFORM_REJECTED" || thrown.code === "PLATFORM_CONTRACT";
}

/** Whether this rotation created the set; decided by the creation time if the platform reports no descriptions. */
export function isOurs(found: CredentialSet, { rotationId, startedAtMs }: RotationRecord): boolean {
  if (found.description !== undefined) return found.description.includes(rotationId);
  return found.createdAtMs === undefined || found.createdAtMs >= startedAtMs - mostClockDriftMs - secondMs;
}

/** Constants are not secret, but are handled like secrets during a call. */
async function withInput<T>(turn: Turn, use: (input: CredentialInput) => Promise<T>): Promise<T> {
  const { record, rotation } = turn;
  const secrets = await turn.secrets();
  const constants = Object.entries(rotation.constants).map(([name, value]) => [name, new Secret(value)] as const);
  const mark = `(simfleet ${record.rotationId})`;
  try {
    return await use({
      credentialsId: record.newId,
      description: rotation.description === undefined ? mark : `${rotation.description} ${mark}`,
      type: record.type,
      credentials: { ...secrets, ...Object.fromEntries(constants) },
    });
  } finally {
    for (const [, constant] of constants) constant.forget();
  }
}

/**
 * Replaces the AuthKey of a profile by a new one under the calls that go on. It does one step after the other, each from
 * the record that the one before has saved (store/auth-key-rotation.ts lists the moves), so that a crash anywhere leads
 * to one of two ends: the new AuthKey in use and the old one revoked, or the old one in use and the new one revoked. It
 * never revokes what this process or another live one uses.
 */
import { isRotationOver, type AuthKeyPhase } from "./record.ts";
import type { WorkResult } from "#engine/job-result.ts";
import { awaitTakeUp, handOver } from "./give.ts";
import { begin, create, makeRoom, prove } from "./make.ts";
import { awaitQuiet, finish, revokeOld, takeBack } from "./retire.ts";
import { type AuthKeyDeps, type Next, Turn } from "./turn.ts";

const steps: Readonly<Record<Exclude<AuthKeyPhase, "done" | "failed">, (turn: Turn) => Promise<Next>>> = {
  begun: begin,
  "making-room": makeRoom,
  creating: create,
  created: prove,
  proved: handOver,
  "handed-over": awaitTakeUp,
  "taken-up": awaitQuiet,
  revoking: revokeOld,
  revoked: finish,
  "taking-back": takeBack,
};

/**
 * Goes on with the rotation of a profile's AuthKey that is under way.
 * @param signal aborts when this process stops or has lost the job
 * @throws what the store throws; the queue tries again then
 */
export async function rotateAuthKey(profile: string, deps: AuthKeyDeps, signal: AbortSignal): Promise<WorkResult> {
  for (;;) {
    const record = await deps.rotations.record(profile);
    if (record === undefined || isRotationOver(record)) return { kind: "ended" };
    if (signal.aborted) return { kind: "handed-back" };
    const turn = new Turn(record, deps, signal);
    const step = steps[record.phase as keyof typeof steps];
    let next: Next;
    try {
      next = await step(turn);
    } catch (thrown) {
      next = await turn.afterFault(thrown);
    } finally {
      turn.release();
    }
    if (next !== "again") return next;
  }
}

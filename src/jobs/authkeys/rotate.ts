/**
 * Replaces a profile's AuthKey without interrupting its calls. Each step starts from the record that the previous step saved
 * (record.ts lists the transitions), so after a crash the rotation still ends in one of two ways: the new AuthKey is in use
 * and the old one revoked, or the old one is in use and the new one revoked. It never revokes an AuthKey that this process
 * or another live process uses.
 */
import { isRotationOver, type AuthKeyPhase } from "./record.ts";
import type { WorkResult } from "#engine/queue/job-result.ts";
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
 * Continues the rotation of a profile's AuthKey that is in progress.
 * @param signal aborts when this process stops or has lost the job
 * @throws errors of the store; the queue then retries the job
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

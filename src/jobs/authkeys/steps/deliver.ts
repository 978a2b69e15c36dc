/** Delivers a verified AuthKey to the sinks, and waits until this process has loaded it from its secret file. */
import { SimfleetError } from "#core/errors.ts";
import { sinkKey, sinkName } from "#jobs/credentials/sinks.ts";
import { giveUp, move, wait } from "#engine/steps.ts";
import { openKey } from "./create.ts";
import type { AuthKeyResult, StepContext } from "./step-context.ts";

const pollIntervalMs = 1_000;
/** After this many failed writes, a file is considered not writable. */
const fileTries = 3;

/** verified -> delivered | taking-back */
export async function handOver(step: StepContext): Promise<AuthKeyResult> {
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
export async function awaitTakeUp(step: StepContext): Promise<AuthKeyResult> {
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

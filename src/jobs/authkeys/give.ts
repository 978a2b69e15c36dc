/** Delivers a proved AuthKey to the sinks, and waits until this process has loaded it from its secret file. */
import { SimfleetError } from "#core/errors.ts";
import { sinkKey, sinkName } from "#jobs/credentials/sinks.ts";
import { openKey } from "./make.ts";
import type { Next, Turn } from "./turn.ts";

const pollIntervalMs = 1_000;
/** After this many failed writes, a file is considered not writable. */
const fileTries = 3;

/** proved -> handed-over | taking-back */
export async function handOver(turn: Turn): Promise<Next> {
  const { record, deps } = turn;
  const { profile, rotationId, startedAtMs, handedTo } = record;
  const sink = deps.sinks.find((one) => !handedTo.includes(sinkKey(one)));
  if (sink === undefined) return turn.to({ phase: "handed-over" });
  const key = await openKey(turn);
  try {
    await deps.handOver(sink, { profile, rotationId, startedAtMs, key }, turn.signal);
  } catch (thrown) {
    if (!(thrown instanceof SimfleetError) || thrown.code !== "SINK_FAILED") throw thrown;
    // A file is written atomically, but a program may have passed the AuthKey on before it failed. An AuthKey that a
    // consumer may have must not be revoked: the rotation then waits for its sink, with both AuthKeys valid.
    const hasNobody = handedTo.length === 0 && sink.kind === "file";
    if (hasNobody && record.tries + 1 >= fileTries) return turn.takeBack(thrown.message);
    return turn.retry(thrown.message);
  }
  const { authKeyId } = key;
  return turn.to(
    { handedTo: [...handedTo, sinkKey(sink)], tries: 0, waitsFor: undefined },
    { type: "authkey.handed-over", fields: { authKeyId, sink: sinkName(sink) } },
  );
}

/** handed-over -> taken-up */
export async function awaitTakeUp(turn: Turn): Promise<Next> {
  const { record, deps } = turn;
  const { newId = "", oldId } = record;
  const inUse = deps.inUseHere();
  if (inUse !== newId) {
    return turn.wait(
      pollIntervalMs,
      `The credentials of ${record.profile} still lead to ${inUse ?? "no AuthKey"} here: they have to lead to ${newId}.`,
    );
  }
  const keys = await turn.list();
  const lastUsedAtMs = keys.find(({ authKeyId }) => authKeyId === oldId)?.lastUsedAtMs;
  return turn.to({ phase: "taken-up", quietSinceMs: "now", lastUsedAtMs });
}

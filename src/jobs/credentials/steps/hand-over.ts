/** The first steps of every rotation: generates and encrypts the new secret, then delivers it to every sink. */
import { forgetAll, newSecret } from "./new-secret.ts";
import { handOver, sinkKey, sinkName } from "../sinks.ts";
import type { Turn } from "./turn.ts";

/** planned -> generated. If a generated secret was not saved, nobody knows it, and a new one is generated. */
export async function makeSecret(turn: Turn): Promise<void> {
  const { rotation, account, context, signal, record } = turn;
  const secrets = await newSecret(rotation, account.deployment.credentialTypes, context.sinkDeps, signal);
  try {
    const sealed = await context.seal.seal(record.rotationId, secrets);
    await turn.move({ state: "generated", sealed });
  } finally {
    forgetAll(secrets);
  }
}

/** generated -> handed-over, sink by sink. */
export async function handOverToAll(turn: Turn): Promise<void> {
  const { rotation, context, signal } = turn;
  const { name, profile, constants, source } = rotation;
  const secrets = await turn.secrets();
  for (const sink of rotation.sinks) {
    const { rotationId, newId, type, handedTo, handedToNames, startedAtMs } = turn.record;
    const key = sinkKey(sink);
    if (handedTo.includes(key)) continue;
    const what = {
      ...{ rotation: name, rotationId, profile, credentialsId: newId, type, secrets, constants },
      ...{ field: source.field, startedAtMs },
    };
    await handOver(sink, what, context.sinkDeps, signal);
    await turn.move({ handedTo: [...handedTo, key], handedToNames: [...handedToNames, sinkName(sink)] }, [
      { type: "credential.handed-over", fields: { sink: sinkName(sink) } },
    ]);
  }
  await turn.move({ state: "handed-over" });
}

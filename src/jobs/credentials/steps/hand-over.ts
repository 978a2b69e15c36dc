/** The first steps of every rotation: generates and encrypts the new secret, then delivers it to every sink. */
import { move } from "#engine/steps.ts";
import { forgetAll, newSecret } from "./new-secret.ts";
import { handOver, sinkKey, sinkName } from "../sinks.ts";
import type { RotationResult, StepContext } from "./step-context.ts";

/** planned -> generated. If a generated secret was not saved, it is lost, and a new one is generated. */
export async function makeSecret(step: StepContext): Promise<RotationResult> {
  const { rotation, account, context, signal, record } = step;
  const secrets = await newSecret(rotation, account.deployment.credentialTypes, context.sinkDeps, signal);
  try {
    const sealed = await context.seal.seal(record.rotationId, secrets);
    return move({ state: "generated", sealed });
  } finally {
    forgetAll(secrets);
  }
}

/** generated -> delivered, sink by sink. */
export async function handOverToAll(step: StepContext): Promise<RotationResult> {
  const { rotation, context, signal } = step;
  const { name, profile, constants, source } = rotation;
  const secrets = await step.secrets();
  for (const sink of rotation.sinks) {
    const { rotationId, newId, type, handedTo, handedToNames, startedAtMs } = step.record;
    const key = sinkKey(sink);
    if (handedTo.includes(key)) continue;
    const handover = {
      rotation: name,
      rotationId,
      profile,
      credentialsId: newId,
      type,
      secrets,
      constants,
      field: source.field,
      startedAtMs,
    };
    await handOver(sink, handover, context.sinkDeps, signal);
    const done = { handedTo: [...handedTo, key], handedToNames: [...handedToNames, sinkName(sink)] };
    const event = { type: "credential.handed-over", fields: { sink: sinkName(sink) } } as const;
    await step.save({ ...done, tries: 0, waitsFor: undefined, reason: undefined, problem: undefined }, [event]);
  }
  return move({ state: "delivered" });
}

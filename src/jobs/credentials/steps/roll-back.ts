/**
 * rolling-back -> failed: groups refer to the old set again, and the successor is deleted if nothing refers to it. A sink
 * cannot return the new value: sinks that already have it are reported.
 */
import { PlatformError } from "#core/errors.ts";
import type { MoveEvent } from "#engine/move-record.ts";
import { move } from "#engine/steps.ts";
import { isOurs } from "./put-on-platform.ts";
import { placesOf, repointGroups } from "./repoint.ts";
import { deleteSet, leftBehind } from "./retire.ts";
import type { RotationResult, StepContext } from "./step-context.ts";

export async function rollBack(step: StepContext): Promise<RotationResult> {
  const { strategy, reason = "", handedToNames } = step.record;
  const obstacle = strategy === "successor" ? await withdraw(step) : undefined;
  const failed: MoveEvent = {
    type: "credential.failed",
    fields: { reason, sinks: handedToNames.join(", ") },
  };
  const left = obstacle === undefined ? [] : [leftBehind(step.record.newId, obstacle)];
  return move({ state: "failed", finishedAtMs: step.nowMs, sealed: undefined, reason }, ...left, failed);
}

/** @returns why the successor still exists; undefined if it does not */
async function withdraw(step: StepContext): Promise<string | undefined> {
  const { oldId, newId } = step.record;
  const found = await step.sets.find(newId);
  if (found === undefined) return undefined;
  if (!isOurs(found, step.record)) return "another than this rotation made it";
  if (step.sets.can("listGroups")) {
    try {
      if (oldId !== undefined) await repointGroups(step, { from: newId, to: oldId });
    } catch (thrown) {
      const isRefused = thrown instanceof PlatformError && thrown.disposition === "never" && thrown.exitCode !== 3;
      if (!isRefused) throw thrown;
    }
    const named = (await step.sets.references(newId)).filter(({ how }) => how === "id");
    if (named.length > 0) return `${placesOf(named)} names it`;
  }
  return deleteSet(step, newId);
}

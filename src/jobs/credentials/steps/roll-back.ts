/**
 * rolling-back -> failed: groups refer to the old set again, and the successor is deleted if nothing refers to it. A sink
 * cannot return the new value: sinks that already have it are reported.
 */
import { PlatformError } from "#core/errors.ts";
import type { MoveEvent } from "#engine/move-record.ts";
import { isOurs } from "./put-on-platform.ts";
import { placesOf, repointGroups } from "./repoint.ts";
import { deleteSet, leftBehind } from "./retire.ts";
import type { Turn } from "./turn.ts";

export async function rollBack(turn: Turn): Promise<void> {
  const { strategy, reason = "", handedToNames } = turn.record;
  const obstacle = strategy === "successor" ? await withdraw(turn) : undefined;
  const failed: MoveEvent = {
    type: "credential.failed",
    fields: { reason, sinks: handedToNames.join(", ") },
  };
  const left = obstacle === undefined ? [] : [leftBehind(turn.record.newId, obstacle)];
  await turn.move({ state: "failed", finishedAtMs: turn.nowMs, sealed: undefined, reason }, [...left, failed]);
}

/** @returns why the successor still exists; undefined if it does not */
async function withdraw(turn: Turn): Promise<string | undefined> {
  const { oldId, newId } = turn.record;
  const found = await turn.sets.find(newId);
  if (found === undefined) return undefined;
  if (!isOurs(found, turn.record)) return "another than this rotation made it";
  if (turn.sets.can("listGroups")) {
    try {
      if (oldId !== undefined) await repointGroups(turn, { from: newId, to: oldId });
    } catch (thrown) {
      const isRefused = thrown instanceof PlatformError && thrown.disposition === "never" && thrown.exitCode !== 3;
      if (!isRefused) throw thrown;
    }
    const named = (await turn.sets.references(newId)).filter(({ how }) => how === "id");
    if (named.length > 0) return `${placesOf(named)} names it`;
  }
  return deleteSet(turn, newId);
}

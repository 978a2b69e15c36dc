/** Checks the age of secrets whose rotation has a maximum age, and reports each older one once. */
import { messageOf, SimfleetError } from "#core/errors.ts";
import { minuteMs } from "#core/time.ts";
import type { Rotation } from "#fleet/rotation.ts";
import type { MoveEvent } from "#engine/move-record.ts";
import { isRotationOver } from "../record.ts";
import { AccountSets } from "../account-sets.ts";
import { currentSet } from "../plan.ts";
import type { RotationContext } from "./step-context.ts";

const pollIntervalMs = 60 * minuteMs;

export async function checkAges(
  profile: string,
  context: RotationContext,
  { signal, emit }: { signal: AbortSignal; emit: (incident: { message: string }) => void },
): Promise<void> {
  const nowMs = context.clock.wallMs();
  for (const rotation of context.rotationsOf(profile)) {
    if (rotation.maxAgeMs === undefined || signal.aborted) continue;
    const check = await context.log.ageCheck(rotation);
    if ((check.nextCheckAtMs ?? 0) > nowMs) continue;
    const record = await context.log.record(rotation.name);
    if (record !== undefined && !isRotationOver(record)) continue;
    const next = { nextCheckAtMs: nowMs + pollIntervalMs };
    try {
      const due = await dueOf(rotation, record, { context, signal, nowMs });
      const isNews = due !== undefined && due.secret !== check.reported;
      const found = isNews ? { change: { ...next, reported: due.secret }, events: [due.event] } : { change: next };
      await context.log.noteAge(rotation.name, check, found);
    } catch (thrown) {
      if (signal.aborted || !(thrown instanceof SimfleetError)) throw thrown;
      emit({ message: `the age of ${rotation.name} is not known: ${messageOf(thrown)}` });
      await context.log.noteAge(rotation.name, check, { change: next });
    }
  }
}

async function dueOf(
  rotation: Rotation,
  record: { readonly currentId?: string } | undefined,
  { context, signal, nowMs }: { context: RotationContext; signal: AbortSignal; nowMs: number },
): Promise<{ secret: string; event: MoveEvent } | undefined> {
  const account = context.accountFor(rotation.profile);
  const current = currentSet(rotation, record, await new AccountSets(account, signal).list());
  const sinceMs = Math.max(current?.createdAtMs ?? 0, current?.updatedAtMs ?? 0);
  if (current === undefined || sinceMs === 0 || nowMs - sinceMs < (rotation.maxAgeMs ?? 0)) return undefined;
  const { credentialsId } = current;
  const since = new Date(sinceMs).toISOString();
  return {
    secret: `${credentialsId} since ${since}`,
    event: { type: "credential.expiring", fields: { credentialsId, since } },
  };
}

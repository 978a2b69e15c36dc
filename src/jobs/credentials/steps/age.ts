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
    const { checkAtMs, reportedOf } = await context.log.ageCheck(rotation.name);
    if (checkAtMs > nowMs) continue;
    const record = await context.log.record(rotation.name);
    if (record !== undefined && !isRotationOver(record)) continue;
    const next = { expiryCheckAtMs: nowMs + pollIntervalMs };
    try {
      const due = await dueOf(rotation, record, { context, signal, nowMs });
      const isNews = due !== undefined && due.credentialsId !== reportedOf;
      const change = isNews ? { ...next, expiryReportedOf: due.credentialsId } : next;
      await context.log.noteAge(rotation, change, isNews ? [due.event] : []);
    } catch (thrown) {
      if (signal.aborted || !(thrown instanceof SimfleetError)) throw thrown;
      emit({ message: `the age of ${rotation.name} is not known: ${messageOf(thrown)}` });
      await context.log.noteAge(rotation, next, []);
    }
  }
}

async function dueOf(
  rotation: Rotation,
  record: { readonly currentId?: string } | undefined,
  { context, signal, nowMs }: { context: RotationContext; signal: AbortSignal; nowMs: number },
): Promise<{ credentialsId: string; event: MoveEvent } | undefined> {
  const account = context.accountFor(rotation.profile);
  const current = currentSet(rotation, record, await new AccountSets(account, signal).list());
  const sinceMs = Math.max(current?.createdAtMs ?? 0, current?.updatedAtMs ?? 0);
  if (current === undefined || sinceMs === 0 || nowMs - sinceMs < (rotation.maxAgeMs ?? 0)) return undefined;
  const { credentialsId } = current;
  const fields = { credentialsId, since: new Date(sinceMs).toISOString() };
  return { credentialsId, event: { type: "credential.expiring", fields } };
}

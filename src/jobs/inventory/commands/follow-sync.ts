/** Shows a sync until it ends: in this process while no worker does it, or in a remote worker. */
import { bucketOf } from "#api/operations/operation.ts";
import { listSims } from "#api/operations/sims.ts";
import type { App } from "#app/app.ts";
import type { Client } from "#contract/client.ts";
import { systemClock } from "#core/time.ts";
import { showSync, type SyncReport } from "../contract.ts";
import { followWork } from "#cli/follow/follow-work.ts";
import { type Output, grouped } from "#cli/output.ts";
import { PlainLines } from "#cli/follow/plain-lines.ts";
import { nextAttemptText, problemText } from "#cli/problem-text.ts";

const plainLineEveryMs = 10_000;

/** @returns the last report of the sync, and the exit code */
export function followSync({
  client,
  app,
  output,
  profile,
  interrupt,
}: {
  readonly client: Client;
  /** Absent with a remote worker, which does the work. */
  readonly app: App | undefined;
  readonly output: Output;
  readonly profile: string;
  readonly interrupt: AbortSignal;
}): Promise<{ report: SyncReport; exitCode: number }> {
  const show = shower(output);
  return followWork({
    output,
    interrupt,
    endOf,
    leaving,
    localWork:
      app === undefined
        ? undefined
        : {
            isServed: () => app.sims.isServed(profile),
            work: (onIncident) => app.consumeSyncs(profile, onIncident),
          },
    report: () => client.call(showSync, { params: { profile } }),
    show: (report) => show(report, () => (app === undefined ? Promise.resolve("") : quotaText(app, profile))),
  });
}

function endOf({ state }: SyncReport): number | undefined {
  return state === "finished" ? 0 : state === "failed" ? 4 : undefined;
}

function leaving({ pages }: SyncReport, { wasLocal }: { wasLocal: boolean }): string {
  if (!wasLocal) return "The sync continues in its worker.";
  return `Nothing is lost: stopped after page ${grouped(pages)}. Resume with: simfleet sims sync`;
}

/** Writes the live line, or a plain one at every change and at intervals. */
function shower(output: Output) {
  const lines = new PlainLines(output, plainLineEveryMs);
  return async ({ sims, pages, state, problem }: SyncReport, waitText: () => Promise<string>): Promise<void> => {
    const progress = `${grouped(sims)} SIMs, ${grouped(pages)} pages`;
    if (output.isLive) {
      const now = problem === undefined ? await waitText() : ` · ${nextAttemptText(problem)} · ${problem.message}`;
      output.live(state === "sweeping" ? "marking what is gone" : `${progress}${now}`);
      return;
    }
    const nowMs = systemClock.monotonicMs();
    if (state === "sweeping") {
      lines.show("marking what is gone", { topic: state, nowMs });
    } else if (problem === undefined) {
      lines.show(`${progress}${await waitText()}`, { topic: state, nowMs });
    } else {
      const text = `page ${grouped(pages + 1)} could not be read: ${problemText(problem)}`;
      lines.show(text, { topic: `${problem.attempts} ${problem.message}`, nowMs });
    }
  };
}

async function quotaText(app: App, profile: string): Promise<string> {
  const bucket = await app.runs.bucket(bucketOf(listSims, profile));
  const toRefreshMs = (bucket.refreshLatestMs ?? bucket.nowMs) - bucket.nowMs;
  const isWaiting = bucket.left === 0 && toRefreshMs > 0;
  return isWaiting ? `, the quota refreshes in ${Math.ceil(toRefreshMs / 1_000)} s` : "";
}

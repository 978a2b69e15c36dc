/** Shows a sync until it ends: in this process while no worker does it, or in a remote worker. */
import { inventory } from "../feature.ts";
import { bucketOf } from "#api/operations/operation.ts";
import { listSims } from "#api/operations/sims.ts";
import type { App } from "#kernel/app.ts";
import type { Client } from "#contract/client.ts";
import { type SyncReport, showSync } from "../contract.ts";
import { type End, type StatusLine, followWork, showStatus } from "#cli/follow/follow-work.ts";
import type { Output } from "#cli/output.ts";
import { nextAttemptText, problemText, counted, grouped } from "#cli/format.ts";

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
  return followWork({
    output,
    interrupt,
    what: "sync",
    isRemote: app === undefined,
    resumeCommand: "simfleet sims sync",
    endOf,
    leaving,
    localWork:
      app === undefined
        ? undefined
        : {
            isServed: () => app.service(inventory).service.isServed(profile),
            work: async (onIncident) => {
              await app.kernel.assertAddress(profile);
              return app.service(inventory).consume(profile, onIncident);
            },
          },
    report: () => client.call(showSync, { params: { profile } }),
    show: showStatus(output, (report) => lineOf(report, app, profile)),
  });
}

function endOf({ state }: SyncReport): End | undefined {
  return state === "finished" ? { exitCode: 0 } : state === "failed" ? { exitCode: 4 } : undefined;
}

function leaving({ pages }: SyncReport, { wasLocal }: { wasLocal: boolean }): End {
  const line = wasLocal
    ? `Nothing is lost: stopped after page ${grouped(pages)}. Resume with: simfleet sims sync`
    : "The sync continues in its worker.";
  return { exitCode: 1, lines: [line] };
}

async function lineOf(
  { sims, pages, state, problem }: SyncReport,
  app: App | undefined,
  profile: string,
): Promise<StatusLine> {
  if (state === "sweeping") return { text: "marking SIMs that are gone", topic: state };
  const progress = `${counted(sims, "SIM")}, ${counted(pages, "page")}`;
  if (problem === undefined) {
    return { text: `${progress}${app === undefined ? "" : await quotaText(app, profile)}`, topic: state };
  }
  return {
    text: `page ${grouped(pages + 1)} could not be read: ${problemText(problem)}`,
    live: `${progress} · ${nextAttemptText(problem)} · ${problem.message}`,
    topic: `${problem.attempts} ${problem.message}`,
  };
}

async function quotaText(app: App, profile: string): Promise<string> {
  const bucket = await app.kernel.limiter.state(bucketOf(listSims, profile));
  const toRefreshMs = (bucket.refreshLatestMs ?? bucket.nowMs) - bucket.nowMs;
  const isWaiting = bucket.left === 0 && toRefreshMs > 0;
  return isWaiting ? `, the quota resets in ${Math.ceil(toRefreshMs / 1_000)} s` : "";
}

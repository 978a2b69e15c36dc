/** Shows a sync until it ends: in this process while no worker does it, or in a remote worker. */
import { inventory } from "../feature.ts";
import { bucketOf } from "#api/operations/operation.ts";
import { listSims } from "#api/operations/sims.ts";
import type { Caller } from "#cli/context.ts";
import { followWork, showStatus } from "#cli/follow/follow-work.ts";
import { counted, grouped, nextAttemptText, problemText } from "#cli/format.ts";
import type { App } from "#kernel/app.ts";
import { type SyncReport, showSync } from "../contract.ts";

/** @returns the last report of the sync, and the exit code */
export function followSync(
  profile: string,
  { client, app, output }: Pick<Caller, "client" | "app" | "output">,
  interrupt: AbortSignal,
): Promise<{ report: SyncReport; exitCode: number }> {
  return followWork<SyncReport>({
    output,
    interrupt,
    what: "sync",
    isRemote: app === undefined,
    resumeCommand: "simfleet sims sync",
    endOf: ({ state }) => (state === "finished" ? { exitCode: 0 } : state === "failed" ? { exitCode: 4 } : undefined),
    leaving: ({ pages }, { wasLocal }) => {
      const stopped = `Nothing is lost: stopped after page ${grouped(pages)}. Resume with: simfleet sims sync`;
      return { exitCode: 1, lines: [wasLocal ? stopped : "The sync continues in its worker."] };
    },
    localWork: app && {
      isServed: () => app.service(inventory).service.isServed(profile),
      work: async (onIncident) => {
        await app.kernel.assertAddress(profile);
        return app.service(inventory).consume(profile, onIncident);
      },
    },
    report: () => client.call(showSync, { params: { profile } }),
    show: showStatus(output, (shown) => lineOf(shown, app, profile)),
  });
}

async function lineOf({ sims, pages, state, problem }: SyncReport, app: App | undefined, profile: string) {
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

/** The report of a sync, for display and JSON. */
import { randomInt } from "node:crypto";
import { reportOfProblem } from "#engine/problem.ts";
import type { Activity } from "#engine/activity-log.ts";
import type { SyncReport } from "./contract.ts";
import type { SyncState } from "./store/sync-record.ts";

export function reportOfSync(profile: string, state: SyncState): SyncReport {
  const { syncId, phase, sims, pages, added, changed, returned, gone, startedAtMs, finishedAtMs } = state;
  const { reason, problem } = state;
  return {
    syncId,
    profile,
    state: phase,
    sims,
    pages,
    added,
    changed,
    returned,
    gone,
    startedAt: new Date(startedAtMs).toISOString(),
    startedBy: state.startedBy ?? null,
    finishedAt: finishedAtMs === undefined ? null : new Date(finishedAtMs).toISOString(),
    seconds: finishedAtMs === undefined ? null : (finishedAtMs - startedAtMs) / 1e3,
    ...(reason === undefined ? {} : { reason }),
    ...(problem === undefined ? {} : { problem: reportOfProblem(problem) }),
  };
}

/** `s-20261120-103045-482`: sorts by time. */
export function newSyncId(nowMs: number): string {
  const stamp = new Date(nowMs).toISOString().replace(/[-:]/g, "").replace("T", "-").slice(0, 15);
  return `s-${stamp}-${String(randomInt(1_000)).padStart(3, "0")}`;
}

/** The last syncs for the log. */
export function activityOfSyncs(reports: readonly (SyncReport | undefined)[]): Activity[] {
  return reports
    .filter((report) => report !== undefined)
    .map(({ syncId, profile, state, sims, added, changed, returned, gone, reason }) => {
      const isOver = state === "finished" || state === "failed";
      return {
        id: syncId,
        state: isOver ? state : "running",
        isOver,
        facts: { syncId, profile, sims, added, changed, returned, gone, reason },
        what: "the sync",
        end: state,
      };
    });
}

/** The report of a sync, for display and JSON. */
import { randomInt } from "node:crypto";
import { type ProblemReport, reportOfProblem } from "#engine/problem.ts";
import type { SyncPhase, SyncState } from "./store/sync-record.ts";

export interface SyncReport {
  readonly syncId: string;
  readonly profile: string;
  readonly state: SyncPhase;
  /** SIMs listed so far, and the number of pages. */
  readonly sims: number;
  readonly pages: number;
  readonly added: number;
  readonly changed: number;
  readonly returned: number;
  readonly gone: number;
  /** ISO 8601, UTC. */
  readonly startedAt: string;
  /** Who requested it; null if not known. */
  readonly startedBy: string | null;
  readonly finishedAt: string | null;
  /** Duration including pauses; null until it has ended. */
  readonly seconds: number | null;
  /** Why it failed. */
  readonly reason?: string;
  /** Why the next page currently cannot be read, and when it is retried. */
  readonly problem?: ProblemReport;
}

export function reportOfSync(profile: string, state: SyncState): SyncReport {
  const { syncId, phase, sims, pages, added, changed, returned, gone, startedAtMs, finishedAtMs } = state;
  const { reason, problem } = state;
  return {
    ...{ syncId, profile, state: phase, sims, pages, added, changed, returned, gone },
    startedAt: new Date(startedAtMs).toISOString(),
    startedBy: state.startedBy ?? null,
    finishedAt: finishedAtMs === undefined ? null : new Date(finishedAtMs).toISOString(),
    seconds: finishedAtMs === undefined ? null : (finishedAtMs - startedAtMs) / 1_000,
    ...(reason === undefined ? {} : { reason }),
    ...(problem === undefined ? {} : { problem: reportOfProblem(problem) }),
  };
}

/** `s-20261120-103045-482`: sorts by time. */
export function newSyncId(nowMs: number): string {
  const stamp = new Date(nowMs).toISOString().replace(/[-:]/g, "").replace("T", "-").slice(0, 15);
  return `s-${stamp}-${String(randomInt(1_000)).padStart(3, "0")}`;
}

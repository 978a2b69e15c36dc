/** The log lines of a worker about runs and syncs: one at the start and one at the end, with counts. */
import { afterEach, expect, test, vi } from "vitest";
import { logActivity } from "#engine/activity-log.ts";
import { activityOfRuns } from "#jobs/runs/report.ts";
import { activityOfSyncs } from "#jobs/inventory/service.ts";
import type { SyncReport } from "#jobs/inventory/contract.ts";
import type { RunReport } from "#jobs/runs/contract.ts";

afterEach(() => vi.useRealTimers());

function runOf(runId: string, state: RunReport["state"], done = 0): RunReport {
  return { runId, state, profile: "default", name: "a.csv", counts: { total: 5, done } } as RunReport;
}

function syncOf(syncId: string, state: SyncReport["state"], sims = 0): SyncReport {
  return { syncId, state, profile: "default", sims, added: 0, changed: 0, returned: 0, gone: 0 } as SyncReport;
}

async function linesOf(polls: readonly { runs?: RunReport[]; syncs?: SyncReport[] }[]): Promise<string[]> {
  const lines: string[] = [];
  let now: (typeof polls)[number] = {};
  const info = (facts: Record<string, unknown>, message: string): void => {
    const { runId, syncId, done, sims } = facts;
    lines.push(`${String(runId ?? syncId)} ${message} (${String(done ?? sims)})`);
  };
  const read = () => Promise.resolve([...activityOfRuns(now.runs ?? []), ...activityOfSyncs(now.syncs ?? [])]);
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  let stop: (() => void) | undefined;
  for (const poll of polls) {
    now = poll;
    stop ??= logActivity(read, { info, debug: () => undefined });
    await vi.advanceTimersByTimeAsync(5_000);
  }
  stop?.();
  return lines;
}

test("a run is logged at its start, each change of state, and its end with its counts", async () => {
  const states = ["running", "running", "paused", "running", "completed", "completed"] as const;
  const polls = states.map((state, n) => ({ runs: [runOf("r-1", state, n)] }));
  expect(await linesOf([{}, ...polls])).toEqual([
    "r-1 the run started (0)",
    "r-1 the run is paused (2)",
    "r-1 the run is running (3)",
    "r-1 the run ended: completed (4)",
  ]);
});

test("a run that starts and ends between two polls has the line of its end, the older run first", async () => {
  const runs = [runOf("r-2", "running"), runOf("r-1", "aborted", 3)];
  expect(await linesOf([{}, { runs }])).toEqual(["r-1 the run ended: aborted (3)", "r-2 the run started (0)"]);
});

test("a worker that starts logs what is in progress, and not what is over", async () => {
  const runs = [runOf("r-2", "running"), runOf("r-1", "completed")];
  expect(await linesOf([{ runs, syncs: [syncOf("s-1", "finished")] }])).toEqual(["r-2 the run started (0)"]);
});

test("a sync is logged at its start and its end, and its steps are not", async () => {
  const states = ["listing", "sweeping", "finished"] as const;
  const polls = states.map((state, n) => ({ syncs: [syncOf("s-1", state, n * 100)] }));
  expect(await linesOf([{}, ...polls])).toEqual(["s-1 the sync started (0)", "s-1 the sync finished (200)"]);
});

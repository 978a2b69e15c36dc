import { describe, expect, it } from "vitest";
import { busiestFirst } from "../../../web/src/pure/bucket.ts";
import { callsPerMinute } from "../../../web/src/pure/runs/run-course.ts";
import { isInProgress, stepsOf } from "../../../web/src/pure/rotation-steps.ts";
import type { BucketReport } from "../../../web/src/pure/shapes.ts";
import {
  actionsFor,
  aheadText,
  changedText,
  segmentsOf,
  settledRows,
  standingOf,
} from "../../../web/src/pure/runs/tally.ts";
import { runStates } from "../../../src/fleet/run.ts";
import { rotationStates } from "../../../src/jobs/credentials/contract.ts";

const none = { total: 0, done: 0, skipped: 0, rejected: 0, failed: 0, unknown: 0, cancelled: 0, pending: 0 };

describe("the progress bar of a run", () => {
  it("the progress bar has a segment per outcome, and the segments add up to the total", () => {
    const counts = { ...none, total: 8, done: 4, failed: 2, pending: 2 };
    expect(settledRows(counts)).toBe(6);
    expect(segmentsOf(counts)).toEqual([
      { outcome: "done", rows: 4, share: 0.5 },
      { outcome: "failed", rows: 2, share: 0.25 },
      { outcome: "pending", rows: 2, share: 0.25 },
    ]);
    expect(segmentsOf(none)).toEqual([]);
  });
});

describe("how a run stands", () => {
  const word = (state: "running" | "completed" | "aborted", counts: Partial<typeof none>, frozen?: string) =>
    standingOf({ state, counts: { ...none, total: 96, ...counts }, problem: undefined, frozen });

  it("a completed run is green only if something was done and nothing is left", () => {
    expect(word("completed", { done: 90, skipped: 6 })).toEqual({ state: "completed", word: "completed" });
    expect(word("completed", { done: 79, rejected: 13, unknown: 4 })).toEqual({
      state: "incomplete",
      word: "completed, 17 not done",
    });
    expect(word("completed", { rejected: 96 }).state).toBe("incomplete");
    expect(word("completed", { skipped: 96 })).toEqual({ state: "never", word: "completed, nothing to do" });
  });

  it("a running run says that it is frozen", () => {
    expect(word("running", { pending: 96 }, "incident 12")).toEqual({ state: "frozen", word: "running (frozen)" });
    expect(word("aborted", { cancelled: 96 }, "incident 12").word).toBe("aborted");
  });

  const run = {
    profile: "default",
    operation: "set-speed-class",
    changes: [
      { from: "s1.4xfast", to: "s1.slow", count: 41 },
      { from: null, to: "s1.slow", count: 19 },
      { to: "s1.slow", count: 1 },
    ],
    changesInAll: 1_061,
  };

  it("what a run changes names the operation, the account, and values with counts", () => {
    expect(changedText({ ...run, operator: "OP0000000001" }, 2)).toBe(
      "set-speed-class on OP0000000001 (default): s1.4xfast → s1.slow 41, none → s1.slow 19, and 1,001 other changes",
    );
    expect(changedText({ ...run, changesInAll: 61 })).toBe(
      "set-speed-class on default: s1.4xfast → s1.slow 41, none → s1.slow 19, unknown → s1.slow 1",
    );
    expect(changedText({ ...run, changes: [], changesInAll: 3 })).toBe("set-speed-class on default: 3 SIMs");
  });
});

describe("the actions of a run", () => {
  it("every run state has its own actions, and a run that is over cannot be cancelled", () => {
    const counts = { ...none, total: 3, done: 1, failed: 1, pending: 1 };
    const actions = Object.fromEntries(runStates.map((state) => [state, actionsFor({ state, counts, hasUndo: true })]));
    expect(actions).toEqual({
      planned: [],
      "awaiting-approval": ["approve", "cancel"],
      running: ["pause", "cancel"],
      paused: ["resume", "cancel"],
      completed: ["retry", "undo"],
      aborted: ["retry", "undo"],
      cancelled: ["retry", "undo"],
    });
  });

  it("retry requires failed or cancelled rows, and undo requires done rows", () => {
    const actions = (counts: Partial<typeof none>) =>
      actionsFor({ state: "completed", counts: { ...none, total: 2, ...counts }, hasUndo: true });
    expect(actions({ done: 2 })).toEqual(["undo"]);
    expect(actions({ rejected: 2 })).toEqual([]);
    expect(actions({ unknown: 2 })).toEqual([]);
    expect(actions({ cancelled: 2 })).toEqual(["retry"]);
    expect(actions({ skipped: 2 })).toEqual([]);
  });
});

describe("what comes before a run", () => {
  it("it waits for the runs whose calls come first, and starts when they are made", () => {
    const ahead = { runs: ["r-1"], calls: 190, startsInSeconds: 180 };
    expect(aheadText({ ahead })).toBe("waits for r-1 (190 calls), starts in about 3 min");
    const many = { runs: ["r-1", "r-2", "r-3", "r-4"], calls: 1_200, startsInSeconds: 0 };
    expect(aheadText({ ahead: many })).toBe("1,200 calls of r-1, r-2 and 2 other runs come first");
    expect(aheadText({ ahead: undefined })).toBeUndefined();
  });
});

describe("the calls per minute of a run", () => {
  const summary = {
    at: "2026-11-20T08:03:10Z",
    windowSeconds: 60,
    windows: [
      { ...none, quota: null, at: "2026-11-20T08:00:00Z", calls: 130 },
      { ...none, quota: null, at: "2026-11-20T08:01:00Z", calls: 600 },
      { ...none, quota: null, at: "2026-11-20T08:02:00Z", calls: 590 },
      { ...none, quota: null, at: "2026-11-20T08:03:00Z", calls: 600 },
    ],
  };

  it("a burst in the current window does not exceed the quota: the last full window counts", () => {
    expect(callsPerMinute(summary, "2026-11-20T08:00:45Z")).toBe(590);
  });

  it("the rate is not known before the first full window has ended", () => {
    expect(callsPerMinute(summary, "2026-11-20T08:02:30Z")).toBeUndefined();
    expect(callsPerMinute(summary, null)).toBeUndefined();
  });
});

describe("the order of quotas", () => {
  it("the busiest quota comes first, and the calls of the day decide between idle ones", () => {
    const of = (bucket: string, calls: number, today: number, waiting = 0) =>
      ({
        bucket,
        windows: [{ calls }],
        today: { calls: today },
        waiters: [{ process: "w", waiting }],
      }) as unknown as BucketReport;
    const buckets = [of("idle", 0, 5), of("yesterday", 0, 900), of("waits", 3, 10, 8), of("spends", 10, 10)];
    expect(busiestFirst(buckets).map(({ bucket }) => bucket)).toEqual(["waits", "spends", "yesterday", "idle"]);
  });
});

describe("the steps of a rotation", () => {
  it("rotation steps up to the current state are marked as past", () => {
    const past = stepsOf({ state: "delivered", strategy: "in-place" }).map(({ isPast }) => isPast);
    expect(past).toEqual([true, true, true, false, false]);
  });

  it("a rotation is in progress in every state except done, failed, and never", () => {
    expect([...rotationStates, "never" as const].filter((state) => !isInProgress({ state }))).toEqual([
      "done",
      "failed",
      "never",
    ]);
  });
});

/** The progress line of a run on terminals of different widths. */
import { expect, test } from "vitest";
import { openOutput } from "#cli/output.ts";
import { progressOf } from "#jobs/runs/commands/follow-run.ts";
import type { RunReport } from "#jobs/runs/contract.ts";
import type { BucketState } from "#limiter/limiter.ts";

const bucket = { limit: 600, left: 0, nowMs: 0, refreshLatestMs: 5_000 } as BucketState;

function lineAt(columns: number, problem?: RunReport["problem"]): string {
  let text = "";
  const stderr = { write: (more: string) => (text += more), isTTY: true, columns };
  const showProgress = progressOf(openOutput({ isJson: false, stdout: { write: () => undefined }, stderr }));
  const counts = { total: 2_000, done: 1_185, rejected: 15, pending: 800 };
  const report = { runId: "r-1", state: "running", counts: { failed: 0, ...counts }, etaSeconds: 14, problem };
  showProgress(report as RunReport, bucket, 0);
  return text.replace("\r\u001B[2K", "");
}

test.each([
  [100, "██████████████░░░░░░░░░░ 1,200/2,000 · –/s · 15 rejected · quota 0/600, resets in 5 s · ETA 14 s"],
  [80, "██████████████░░░░░░░░░░ 1,200/2,000 · –/s · 15 rejected · ETA 14 s"],
  [70, "██████░░░░ 1,200/2,000 · –/s · 15 rejected · ETA 14 s"],
  [40, "██████░░░░ 1,200/2,000 · –/s · ETA 14 s"],
])("on %d columns the line has the parts that fit whole", (columns, line) => {
  expect(lineAt(columns)).toBe(line);
});

test("a problem is shown as far as it fits", () => {
  const problem = {
    message: "The platform answered 500",
    since: "2026-11-20T08:00:00Z",
    attempts: 3,
    nextAttemptAt: null,
  };
  expect(lineAt(40, problem)).toBe("██████░░░░ 1,200/2,000 · The platform a");
});

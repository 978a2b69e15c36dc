/** A process that is stopped for longer than its locks last, as by Ctrl-Z, and continued. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { isLong } from "../support/long.ts";
import { CliHarness } from "./support/cli-harness.ts";

vi.setConfig({ testTimeout: 600_000 });

const env = { SIMFLEET_CONNECTIONS: "12" };
const slow = { sims: 40, rows: 40, latencyMs: [300, 400], isProcessPerCommand: true, env } as const;

// A lock has to end by Redis's clock, and its check comes later.
test.runIf(isLong)("an apply that stood still for 40 s says so, and counts the platform's calls", async () => {
  await using harness = await CliHarness.open(slow);
  const apply = harness.start(["apply", "fleet.csv", "--yes", "--json"]);
  await harness.untilChanges(10);
  apply.kill("SIGSTOP");
  await sleep(40_000);
  apply.kill("SIGCONT");
  const { code, stdout, stderr } = await apply.ended;
  const { calls, counts } = JSON.parse(stdout) as { calls: number; counts: { done: number } };
  expect([code, counts.done]).toEqual([0, 40]);
  expect(calls).toBe(harness.sandbox.state.totals.byOperation["updateSimSpeedClass"]);
  expect(stderr.match(/lock for job/g)).toBeNull();
  expect(stderr.match(/this process stood still for 10 s or more/g)).toHaveLength(1);
});

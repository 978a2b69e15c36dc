/** A process that is stopped for longer than its locks last, as by Ctrl-Z, and continued. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { isLong } from "../support/long.ts";
import { CliHarness } from "./support/cli-harness.ts";

// A lock has to end by Redis's clock, and its check comes later.
test.runIf(isLong)(
  "an apply that is stopped for 40 s and continued says so in one sentence, and its calls are those of the platform",
  { timeout: 600_000 },
  async () => {
    await using harness = await CliHarness.open({
      sims: 40,
      latencyMs: [300, 400],
      isProcessPerCommand: true,
      env: { SIMFLEET_CONNECTIONS: "12" },
    });
    await harness.fleet("fleet.csv", 40);
    const apply = harness.start(["apply", "fleet.csv", "--yes", "--json"]);
    await harness.untilChanges(10);
    apply.kill("SIGSTOP");
    await sleep(40_000);
    apply.kill("SIGCONT");
    const { code, stdout, stderr } = await apply.ended;
    expect(code).toBe(0);
    const { calls, counts } = JSON.parse(stdout) as { calls: number; counts: { done: number } };
    expect(counts.done).toBe(40);
    expect(calls).toBe(harness.sandbox.state.totals.byOperation["updateSimSpeedClass"]);
    expect(stderr.match(/lock for job/g)).toBeNull();
    expect(stderr.match(/this process stood still for 10 s or more/g)).toHaveLength(1);
  },
);

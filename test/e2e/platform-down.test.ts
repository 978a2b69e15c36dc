/** A platform that answers only 500: every surface says so, with the next attempt, and nothing is silent. */
import { describe, expect, test } from "vitest";
import { isLong } from "../support/long.ts";
import { CliHarness } from "./support/cli-harness.ts";
import { runIdIn } from "./support/results.ts";

describe.concurrent("a platform that answers only 500", () => {
  test("a run shows its problem and next attempt in progress, show, list, and events, and recovers", async () => {
    await using harness = await CliHarness.open({ sims: 60, faults: { "empty-500": 1 }, rows: 60 });
    const apply = harness.start(["apply", "fleet.csv", "--yes"]);
    const progress = await apply.said(
      /0 of 60 rows \(0%\), .*500.*failed attempts? since .*, next attempt (in \d+ s|now)/,
    );
    expect(progress[0]).not.toMatch(/about .* left/);
    const runId = runIdIn(apply.stderr);
    const shown = await harness.json(["runs", "show", runId]);
    expect(shown.document.etaSeconds).toBeNull();
    expect(shown.document.problem?.message).toContain("500");
    expect(shown.document.problem?.attempts).toBeGreaterThan(0);
    expect((await harness.run(["runs", "show", runId])).stdout).toMatch(/500.*next attempt/);
    expect((await harness.run(["runs", "list"])).stdout).toContain("running (problem)");
    await apply.said(/\n.*next attempt[^]*\n.*next attempt/);

    harness.sandbox.faults.rates = {};
    expect((await apply.ended).code).toBe(0);
    const after = await harness.json(["runs", "show", runId]);
    expect(after.document).not.toHaveProperty("problem");
  });

  test.runIf(isLong)(
    "a sync prints a line for each failed attempt with the page, the status, and the next attempt",
    async () => {
      await using harness = await CliHarness.open({ sims: 60, faults: { "empty-500": 1 } });
      const sync = harness.start(["sims", "sync"]);
      await sync.said(/page 1 could not be read: .*500.*\(1 failed attempt since .*, next attempt in \d+ s\)/);
      await sync.said(/page 1 could not be read: .*500.*\(2 failed attempts since /);
      const lines = sync.stderr.trimEnd().split("\n");
      expect(new Set(lines).size).toBe(lines.length);
      harness.sandbox.faults.rates = {};
      expect((await sync.ended).code).toBe(0);
    },
  );
});

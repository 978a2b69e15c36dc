/** A platform that answers only 500: every surface says so, with the next attempt, and nothing is silent. */
import { describe, expect, test } from "vitest";
import { isLong } from "../support/long.ts";
import { CliHarness } from "./support/cli-harness.ts";
import { runIdIn } from "./support/results.ts";

describe.concurrent("a platform that answers only 500", () => {
  /** A run that has failed, and its progress line. */
  async function setupFailing() {
    const harness = await CliHarness.open({ sims: 60, faults: { "empty-500": 1 }, rows: 60 });
    const apply = harness.start(["apply", "fleet.csv", "--yes"]);
    const failing = /0 of 60 rows \(0%\), .*500.*failed attempts? since .*, next attempt (in \d+ s|now)/;
    const [progress] = await apply.said(failing);
    return Object.assign(harness, { apply, progress, runId: runIdIn(apply.stderr) });
  }

  test("the progress of a run says the next attempt again and again, and no time left", async () => {
    await using harness = await setupFailing();
    expect(harness.progress).not.toMatch(/about .* left/);
    await harness.apply.said(/\n.*next attempt[^]*\n.*next attempt/);
  });

  test("a run shows its problem and next attempt until it has recovered", async () => {
    await using harness = await setupFailing();
    const { apply, runId } = harness;
    const shown = await harness.json(["runs", "show", runId]);
    expect(shown.document).toMatchObject({ etaSeconds: null, problem: { message: expect.stringContaining("500") } });
    expect(shown.document.problem?.attempts).toBeGreaterThan(0);
    expect((await harness.run(["runs", "show", runId])).stdout).toMatch(/500.*next attempt/);
    expect((await harness.run(["runs", "list"])).stdout).toContain("running (problem)");
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

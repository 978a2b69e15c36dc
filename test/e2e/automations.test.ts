/** An automation in a real worker, from the SIM that appears to the message about its run. */
import { expect, test } from "vitest";
import { until } from "../support/until.ts";
import { CliHarness } from "./support/cli-harness.ts";

const newSimsSlow = `automations:
  new-sims-slow: { on: sim.added, where: "speedClass!=s1.minimum", job: apply, speedClass: s1.minimum }
`;

/** A paused automation, and a SIM that has appeared since. */
async function setupPaused() {
  const env = { SIMFLEET_COVERAGE: "g" };
  const harness = await CliHarness.open({ sims: 20, config: newSimsSlow, env });
  await harness.run(["sims", "sync"]);
  await harness.worker();
  await until("it is followed", async () => (await harness.run(["automations", "list"])).stdout.includes(" active "));
  const paused = await harness.run(["automations", "pause", "new-sims-slow"]);
  const [missed = ""] = harness.sandbox.fleet.add(1);
  harness.sandbox.fleet.edit(missed, { speedClass: "s1.8xfast" });
  await harness.run(["sims", "sync"]);
  return Object.assign(harness, { paused, missed });
}

test.concurrent("an operator can pause an automation, and preview what it would do since then", async () => {
  await using harness = await setupPaused();
  const { paused, missed } = harness;
  expect(paused.stdout).toMatch(
    /^AUTOMATION +ON +WHERE +DOES +STATE .*\nnew-sims-slow +sim\.added +speedClass!=s1\.minimum +set-speed-class s1\.minimum +paused /,
  );
  const dry = await harness.run(["automations", "replay", "new-sims-slow", "--dry-run"]);
  expect(dry.stdout).toMatch(new RegExp(`\\S+ \\S+ +sim\\.added +${missed} +would act\n`));
  expect(dry.stderr).toContain("it would act on 1. Nothing was done.");
  expect(harness.sandbox.state.speedClassOf(missed)).toBe("s1.8xfast");
});

test.concurrent("an operator can resume an automation, and replay what it missed", async () => {
  await using harness = await setupPaused();
  const { missed } = harness;
  const resumed = await harness.run(["automations", "resume", "new-sims-slow"]);
  expect([resumed.code, resumed.stdout]).toEqual([0, expect.stringMatching(/\nnew-sims-slow .* active /)]);
  expect((await harness.run(["automations", "replay", "new-sims-slow", "--yes"])).code).toBe(0);
  await until("it is changed", () => harness.sandbox.state.speedClassOf(missed) === "s1.minimum");
});

/** An automation in a real worker, from the SIM that appears to the message about its run. */
import { expect, test } from "vitest";
import { until } from "../support/until.ts";
import { CliHarness } from "./support/cli-harness.ts";

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const newSimsSlow = `automations:
  new-sims-slow: { on: sim.added, where: "speedClass!=s1.minimum", job: apply, speedClass: s1.minimum }
`;

/** A harness with these automations. */
function setup(config: string): Promise<CliHarness> {
  const secretFiles = { "hook-secret": secret };
  return CliHarness.open({ sims: 20, config, secretFiles, env: { SIMFLEET_COVERAGE: "g" } });
}

/** SIMs appear on the platform, with these classes. */
function appear(harness: CliHarness, classes: readonly string[]): string[] {
  const ids = harness.sandbox.fleet.add(classes.length);
  for (const [i, id] of ids.entries()) harness.sandbox.fleet.edit(id, { speedClass: classes[i] });
  return ids;
}

test.concurrent("an operator can see, pause, preview, and replay an automation", async () => {
  await using harness = await setup(newSimsSlow);
  await harness.run(["sims", "sync"]);
  await harness.worker();
  await until("it is followed", async () => (await harness.run(["automations", "list"])).stdout.includes(" active "));
  const paused = await harness.run(["automations", "pause", "new-sims-slow"]);
  expect(paused.stdout).toMatch(
    /^AUTOMATION +ON +WHERE +DOES +STATE .*\nnew-sims-slow +sim\.added +speedClass!=s1\.minimum +set-speed-class s1\.minimum +paused /,
  );
  const [missed = ""] = appear(harness, ["s1.8xfast"]);
  await harness.run(["sims", "sync"]);
  const dry = await harness.run(["automations", "replay", "new-sims-slow", "--dry-run"]);
  expect(dry.stdout).toMatch(new RegExp(`\\S+ \\S+ +sim\\.added +${missed} +would act\n`));
  expect(dry.stderr).toContain("it would act on 1. Nothing was done.");
  expect(harness.sandbox.state.speedClassOf(missed)).toBe("s1.8xfast");
  const resumed = await harness.run(["automations", "resume", "new-sims-slow"]);
  expect([resumed.code, resumed.stdout]).toEqual([0, expect.stringMatching(/\nnew-sims-slow .* active /)]);
  expect((await harness.run(["automations", "replay", "new-sims-slow", "--yes"])).code).toBe(0);
  await until("it is changed", () => harness.sandbox.state.speedClassOf(missed) === "s1.minimum");
});

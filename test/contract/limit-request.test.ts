/** The text with which an operator requests a higher quota. */
import { expect, test } from "vitest";
import { listSims } from "#api/operations/sims.ts";
import { ControlHarness } from "./support/control-harness.ts";
import { runCommand } from "./support/run-command.ts";

test("quota --request names the calls, the limit and the rate of each API group", async () => {
  const env = { SIMFLEET_DEPLOYMENT: "soracom", SIMFLEET_COVERAGE: "g" };
  await using harness = await ControlHarness.open({ env, sandbox: { brand: "Soracom" } });
  const request = (where: "local" | "remote") => runCommand(harness, ["quota", "--request"], where);
  expect((await request("local")).stdout).toMatch(/^No quota is known yet/);
  await harness.app.kernel.client("default").call(listSims, { limit: 1 });
  const { code, stdout } = await request("local");
  expect([code, stdout]).toEqual([0, expect.stringMatching(/^Please raise the rate limit/)]);
  const group = "\n\nAPI group: Sim (limit now: 2000 requests per minute)\nAPI calls:\n  GET /v1/sims\n";
  expect(stdout).toContain(group);
  expect(stdout).toMatch(/\nEstimated requests per minute: \d+ .*\n\nUse case: /);
  expect(stdout).not.toContain("Auth");
  expect(await request("remote")).toMatchObject({ code: 2, stderr: expect.stringContaining("leave out --server") });
});

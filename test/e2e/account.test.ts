/** Accounts of every kind: credential forms, coverage, wording, brand, language. */
import { describe, expect, test } from "vitest";
import { column } from "./support/results.ts";
import { until } from "../support/until.ts";
import { CliHarness } from "./support/cli-harness.ts";

test.concurrent("the earlier API wording identifies SIMs by IMSI", async () => {
  await using harness = await CliHarness.open({ env: { SIMFLEET_WORDING: "subscribers" } });
  const imsis = [0, 1, 2].map((n) => harness.sandbox.state.sims.imsiAt(n));
  await harness.write("fleet.csv", `IMSI;speedClass\n${imsis.map((imsi) => `${imsi};s1.4xfast\n`).join("")}`);
  const applied = await harness.json(["apply", "fleet.csv", "--yes"]);
  expect(applied).toMatchObject({ code: 0, document: { counts: { done: 3 } } });
  expect(imsis.map((imsi) => harness.sandbox.state.speedClassOf(imsi))).toEqual(imsis.map(() => "s1.4xfast"));
  expect(column(await harness.read(applied.document.results ?? ""), "IMSI")).toEqual(imsis);
  await harness.fleet("by-id.csv", 2);
  expect((await harness.run(["plan", "by-id.csv"])).stderr).toBe(
    "simfleet: The file names its SIMs by simId, but the configured wording is subscribers, which needs a column imsi. " +
      "Set SIMFLEET_WORDING=sims to work with simId, or give the file a column imsi.\n",
  );
});

describe.concurrent("accounts that the platform refuses", () => {
  const message = "Addresses for both coverages are set, and the account may use both: set SIMFLEET_COVERAGE";

  /** An account with both coverages, which has to choose. @returns its settings as well */
  async function setup() {
    const harness = await CliHarness.open({ coverageTypes: ["g", "jp"], serves: ["g", "jp"], rows: 3 });
    const { url } = harness.sandbox;
    const both = { SIMFLEET_ENDPOINT_JAPAN: url, SIMFLEET_JWKS_URL: `${url}/.well-known/jwks.json` };
    return Object.assign(harness, { both });
  }

  test("an account with both coverages has to choose, and each command says so with exit code 2", async () => {
    await using harness = await setup();
    for (const command of ["check", "sims sync", "apply fleet.csv --yes"]) {
      const ended = await harness.run(command.split(" "), harness.both);
      expect([command, ended.code]).toEqual([command, 2]);
      expect(ended.stdout + ended.stderr, command).toContain(message);
      expect(ended.stdout + ended.stderr, command).not.toContain("\\n");
    }
  });

  test("a worker pauses the runs of an account with both coverages until it chooses, and says so", async () => {
    await using harness = await setup();
    const { both: env } = harness;
    const worker = await harness.worker(env);
    const { document } = await harness.json(["apply", "fleet.csv", "--yes", "--detach"], env);
    const show = () => harness.run(["runs", "show", document.runId], env);
    await until("the worker pauses the run", async () => (await show()).stdout.includes(`paused: ${message}`));
    expect(worker.stderr).toContain(message);
    expect(harness.changes).toBe(0);
    expect((await harness.run(["runs", "list", "--state", "paused"], env)).stdout).toContain(document.runId);
    expect((await harness.run(["runs", "list", "--state", "running"], env)).stdout).toBe("No run is running.\n");
  });
});

/** Files, command lines and settings that cannot be taken: each gets one message that says what is wrong and what to do. */
import { describe, expect, test } from "vitest";
import { CliHarness } from "./support/cli-harness.ts";

describe.concurrent("refused input files", () => {
  test("apply refuses a file without any valid row even with --partial", async () => {
    await using harness = await CliHarness.open();
    await harness.write("fleet.csv", "simId,speedClass\n8.94E+18,s1.fast\n");
    const refused = await harness.run(["apply", "fleet.csv", "--yes", "--partial"]);
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    expect(refused.stderr).toMatch(
      /simfleet: No row of the file can be sent \(the first: line 2: .*\)\. Nothing was started\.\n$/,
    );
  });
});

describe.concurrent("a plan of a file with mistakes", () => {
  test("names the lines, says that apply refuses the file, and ends with exit code 1", async () => {
    await using harness = await CliHarness.open({ sims: 10 });
    await harness.run(["sims", "sync"]);
    const lines = [
      `${harness.simId(0)},s1.slow`,
      `${harness.simId(1)},s1.sloow`,
      `${harness.simId(2)},s1.sloow`,
      "8942319999999999999,s1.slow",
      "8.94E+18,s1.slow",
    ];
    await harness.write("fleet.csv", `simId,speedClass\n${lines.join("\n")}\n`);
    const { code, stdout, stderr } = await harness.run(["plan", "fleet.csv"]);
    expect(code).toBe(1);
    expect(stdout).toContain("no SIM has the speed class s1.sloow: 2 rows (lines 3, 4); check its spelling\n");
    expect(stdout).toContain("not in the inventory: 1 row (line 5)\n");
    expect(stderr).toBe(
      "1 of 5 rows cannot be sent, so apply would reject the file. Fix it, or use --partial to process only the valid rows.\n",
    );
  });

  test("results that cannot be written are refused before any change is made", async () => {
    await using harness = await CliHarness.open();
    await harness.fleet("fleet.csv", 3);
    const { code, stderr } = await harness.run(["apply", "fleet.csv", "--yes", "--out", "nowhere/results.csv"]);
    expect(stderr).toMatch(/^simfleet: The results cannot be written to nowhere\/results\.csv: .*Nothing was started/);
    expect({ code, changes: harness.changes }).toEqual({ code: 4, changes: 0 });
  });

  test("a retry of a run with rejected rows alone names the option that retries them", async () => {
    await using harness = await CliHarness.open();
    await harness.write("fleet.csv", "simId,speedClass\n8942319999999999999,s1.fast\n");
    const applied = await harness.run(["apply", "fleet.csv", "--yes"]);
    expect(applied.stdout).toContain(
      "    1 rejected: set-speed-class: rejected (404 SIM0001: There is no such SIM).\n",
    );
    const runId = /r-\d{8}-\d{6}-\w+/.exec(applied.stdout)?.[0] ?? "";
    const retry = await harness.run(["runs", "retry", runId, "--yes"]);
    expect(retry).toMatchObject({ code: 2, stdout: "" });
    expect(retry.stderr).toContain("To retry its rejected rows, add --outcome rejected\n");
  });
});

describe.concurrent("the configuration on the command line", () => {
  test("all configuration errors are reported together", async () => {
    await using harness = await CliHarness.open();
    await harness.fleet("fleet.csv", 1);
    const env = {
      SIMFLEET_COVERAGE: "eu",
      SIMFLEET_RESERVE: "2",
      SIMFLEET_HTTP_PORT: "99999",
      SIMFLEET_LANGUAGE: "de",
      SIMFLEET_AUTHKEY: "x",
    };
    expect(await harness.run(["plan", "fleet.csv"], env)).toEqual({
      code: 2,
      stdout: "",
      stderr: [
        "simfleet: The configuration has 5 problems:",
        "  SIMFLEET_AUTHKEY: There is no such variable. Did you mean SIMFLEET_AUTH_KEY?",
        '  SIMFLEET_LANGUAGE: must be `en`, `ja`; it is "de".',
        '  SIMFLEET_COVERAGE: must be `g`, `jp`; it is "eu".',
        "  SIMFLEET_RESERVE: must be `auto`, or a number from 0 to 0.9; it is 2.",
        "  SIMFLEET_HTTP_PORT: must be a whole number from 0 to 65535; it is 99999.",
        "",
      ].join("\n"),
    });
    const checked = await harness.json<{ ok: boolean; findings: { status: string }[] }>(["check"], env);
    expect(checked).toMatchObject({ code: 2, document: { ok: false } });
    expect(checked.document.findings.map(({ status }) => status)).toEqual(Array(5).fill("wrong"));
  });
});

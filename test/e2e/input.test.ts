/** Files, command lines and settings that cannot be taken: each gets one message with what is wrong and what to do. */
import { describe, expect, test } from "vitest";
import { CliHarness, type RunDocument } from "./support/cli-harness.ts";

describe.concurrent("rows from a pipe", () => {
  test("are planned and applied as those of a file, with results in the working folder", async () => {
    await using harness = await CliHarness.open({ sims: 5, rows: 5 });
    const planned = (await harness.run(["plan", "fleet.csv"])).stdout;
    expect(planned).toMatch(/^fleet\.csv: 5 rows\n/);
    for (const line of ["cat fleet.csv | simfleet plan -", "simfleet plan /dev/stdin < fleet.csv"]) {
      const { code, stdout } = await harness.shell(line).ended;
      expect([line, code, stdout]).toEqual([line, 0, planned.replace("fleet.csv", "stdin")]);
    }
    const named = "mkfifo rows.csv && { cat fleet.csv > rows.csv & } && simfleet plan rows.csv";
    expect((await harness.shell(named).ended).stdout).toBe(planned.replace("fleet", "rows"));
    const applied = await harness.shell("cat fleet.csv | simfleet apply - --yes --json").ended;
    const { runId, name, results } = JSON.parse(applied.stdout) as RunDocument;
    expect([applied.code, name, results, harness.changes]).toEqual([0, "stdin", `stdin.${runId}.results.csv`, 5]);
    expect(await harness.files(".results.csv")).toEqual([results]);
  });

  test("change nothing without --yes where no terminal asks, or if there are none", async () => {
    await using harness = await CliHarness.open({ sims: 5, rows: 5 });
    const unasked = await harness.shell(`cat fleet.csv | setsid --wait ${harness.commandLine(["apply", "-"])}`).ended;
    const why = "simfleet: Not a terminal: add --yes to confirm. Nothing was started";
    expect([unasked.code, unasked.stderr.trimEnd().split("\n").at(-1)]).toEqual([2, why]);
    const empty = await harness.shell("true | simfleet apply - --yes").ended;
    expect(empty).toMatchObject({ code: 2, stderr: "simfleet: The file is empty.\n" });
    expect(harness.changes).toBe(0);
  });

  test("are those that have come where the writer dies, which no pipe tells; a row that breaks off is invalid", async () => {
    await using harness = await CliHarness.open({ sims: 5, rows: 5 });
    const cut = (bytes: number) =>
      harness.shell(`{ head -c ${bytes} fleet.csv; kill $BASHPID; } | simfleet plan -`).ended;
    const whole = (await harness.read("fleet.csv")).split("\n").slice(0, 3).join("\n").length + 1;
    expect(await cut(whole)).toMatchObject({ code: 0, stdout: expect.stringMatching(/^stdin: 2 rows\n/) as string });
    expect(await cut(whole + 10)).toMatchObject({ code: 1, stdout: expect.stringContaining("1 invalid") as string });
  });
});

test.concurrent("a plan of a file with mistakes names the lines, and ends with exit code 1, since apply refuses the file", async () => {
  await using harness = await CliHarness.open({ sims: 10 });
  await harness.run(["sims", "sync"]);
  const classes = ["s1.slow", "s1.sloow", "s1.sloow"];
  const known = classes.map((speedClass, n) => `${harness.simId(n)},${speedClass}`);
  const lines = [...known, "8942319999999999999,s1.slow", "8.94E+18,s1.slow"];
  await harness.write("fleet.csv", `simId,speedClass\n${lines.join("\n")}\n`);
  const { code, stdout, stderr } = await harness.run(["plan", "fleet.csv"]);
  expect(code).toBe(1);
  expect(stdout).toContain("no SIM has the speed class s1.sloow: 2 rows (lines 3, 4); check its spelling\n");
  expect(stdout).toContain("not in the inventory: 1 row (line 5)\n");
  expect(stderr).toBe(
    "1 of 5 rows cannot be sent, so apply would reject the file. Fix it, or use --partial to process only the valid rows.\n",
  );
});

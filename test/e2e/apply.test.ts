/** The harness of the main road: a file, its plan, its run, its results. */
import { hostname } from "node:os";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../support/until.ts";
import { column, counted, resultRows } from "./support/results.ts";
import type { Ended } from "./support/process.ts";
import { type RunDocument, CliHarness } from "./support/cli-harness.ts";

const runKeys = [
  "runId",
  "name",
  "state",
  "profile",
  "operation",
  "changes",
  "changesInAll",
  "counts",
  "calls",
  "throttled",
  "startedAt",
  "finishedAt",
  "etaSeconds",
  "submittedBy",
];
const countKeys = ["total", "done", "skipped", "rejected", "failed", "unknown", "cancelled", "pending"];
const exampleIds = [
  "8942310526018159081",
  "8942310301661318602",
  "8942310913909960308",
  "8942310824628194824",
  "8942310199351819099",
  "8942310378657975439",
  "8942310231948757498",
  "8981100118625276011",
  "8981100895559797118",
  "8981100471049746501",
  "8981100752917034231",
  "8981100667127684262",
];

const planKeys = [
  "file",
  "sha256",
  "profile",
  "operation",
  "changes",
  "changesInAll",
  "rows",
  "verdicts",
  "unchangedSkipped",
  "calls",
  "costly",
  "irreversible",
  "hasUndo",
  "estimateSeconds",
  "othersPerMinute",
  "problems",
  "problemsInAll",
  "supersedes",
  "warnings",
];

describe.concurrent("files of speed classes", () => {
  /** Applies the example file. @returns its results as well */
  async function applyExample(harness: CliHarness) {
    const file = await harness.example("speed-classes.csv");
    const applied = await harness.run(["apply", file, "--yes"]);
    const [results = ""] = await harness.files(".results.csv");
    return { applied, results, input: await harness.read(file), output: await harness.read(results) };
  }

  test("a file is planned without a call to the platform", async () => {
    await using harness = await CliHarness.open({ simIds: exampleIds });
    const file = await harness.example("speed-classes.csv");
    const planned = await harness.run(["plan", file]);
    expect(planned).toEqual({
      code: 0,
      stderr: "",
      stdout:
        "speed-classes.csv: 12 rows\n" +
        "  set-speed-class on default: unknown → s1.fast 4, unknown → s1.minimum 3, unknown → s1.standard 2, and 3 other changes\n" +
        "  12 to change\n" +
        "12 calls, duration unknown until the first response reports the quota\n",
    });
    expect(harness.sandbox.state.totals.calls).toBe(0);
  });

  test("a file is applied row by row", async () => {
    await using harness = await CliHarness.open({ simIds: exampleIds });
    const { applied, results, output } = await applyExample(harness);
    expect(applied.code).toBe(0);
    expect(applied.stdout).toMatch(
      /^r-\d{8}-\d{6}-[a-z0-9]{8} {2}speed-classes\.csv\n {2}set-speed-class on .*\n {2}completed\n {2}12 of 12 done\n/,
    );
    expect(applied.stderr).toContain(`Results: ${results}\n`);
    for (const row of resultRows(output)) {
      expect(harness.sandbox.state.speedClassOf(row["simId"] ?? "")).toBe(row["speedClass"]);
    }
  });

  test("a results file has the columns and the rows of its input in order, with the outcomes", async () => {
    await using harness = await CliHarness.open({ simIds: exampleIds });
    const example = await applyExample(harness);
    const input = example.input.trimEnd().split("\n");
    const output = example.output.trimEnd().split("\n");
    expect(output[0]).toBe(`${input[0]},outcome,reason,previousSpeedClass,attempts,finishedAt`);
    expect(output).toHaveLength(input.length);
    output.slice(1).forEach((line, n) => {
      expect(line).toMatch(/,done,,,1,\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      expect(line.startsWith(`${input[n + 1]},`)).toBe(true);
    });
  });

  test("the valid rows of a file are sent with --partial", async () => {
    await using harness = await CliHarness.open({ simIds: exampleIds });
    const file = await harness.example("spoiled.csv");
    const applied = await harness.json(["apply", file, "--yes", "--partial"]);
    expect(applied.code).toBe(1);
    expect(applied.document.counts).toMatchObject({ total: 11, done: 3, rejected: 8, pending: 0 });
    const rows = resultRows(await harness.read(applied.document.results ?? ""));
    expect(counted(rows.map(({ outcome = "" }) => outcome))).toEqual({ done: 3, rejected: 8 });
    expect(rows.filter(({ outcome, reason }) => outcome === "rejected" && reason === "")).toEqual([]);
    expect(harness.sandbox.state.totals.byOperation).toMatchObject({ updateSimSpeedClass: 3 });
  });

  test("a file that names a SIM twice with one class makes one call, and both rows get its outcome", async () => {
    await using harness = await CliHarness.open();
    const [known, unknown] = [harness.simId(0), "8942319999999999999"];
    const lines = [known, unknown, known, unknown].map((id) => `${id},s1.fast\n`);
    await harness.write("fleet.csv", `simId,speedClass\n${lines.join("")}`);
    const applied = await harness.json(["apply", "fleet.csv", "--yes"]);
    expect(applied).toMatchObject({ code: 1, document: { calls: 2, counts: { total: 4, done: 2, rejected: 2 } } });
    const outcomes = column(await harness.read(applied.document.results ?? ""), "outcome");
    expect(outcomes).toEqual(["done", "rejected", "done", "rejected"]);
    expect(harness.changes).toBe(1);
  });
});

test.concurrent("the failed rows in a results file can be submitted again unchanged, on purpose", async () => {
  await using harness = await CliHarness.open();
  const missing = "8942319999999999999";
  await harness.write("fleet.csv", `simId,speedClass,site\n${harness.simId(0)},s1.fast,a\n${missing},s1.fast,b\n`);
  const first = await harness.json(["apply", "fleet.csv", "--yes"]);
  expect(first.code).toBe(1);
  const asked = ["runs", "results", first.document.runId, "--outcome", "rejected", "--out", "again.csv"];
  expect(await harness.run(asked)).toMatchObject({ code: 0, stdout: "Results: again.csv\n" });
  const reason = "set-speed-class: rejected (404 SIM0001: There is no such SIM).";
  expect(resultRows(await harness.read("again.csv"))).toMatchObject([{ simId: missing, reason }]);
  const second = await harness.json(["apply", "again.csv", "--yes", "--from-results"]);
  expect(second).toMatchObject({ code: 1, document: { counts: { total: 1, rejected: 1 } } });
  const [header] = (await harness.read(second.document.results ?? "")).split("\n");
  expect(header).toBe("simId,speedClass,site,outcome,reason,previousSpeedClass,attempts,finishedAt");
});

describe("the one JSON document of a command", () => {
  let harness: CliHarness;
  let plan: Ended & { document: object };
  let first: Ended & { document: RunDocument };
  let second: Ended & { document: RunDocument };
  beforeAll(async () => {
    harness = await CliHarness.open();
    await harness.fleet("fleet.csv", 6);
    plan = await harness.json(["plan", "fleet.csv"]);
    first = await harness.json(["apply", "fleet.csv", "--yes", "--name", "first"]);
    second = await harness.json(["apply", "fleet.csv", "--yes", "--send-unchanged"]);
  });
  afterAll(() => harness[Symbol.asyncDispose]());

  /** The first run, without its results file. */
  function readFirst() {
    const { results: _, ...report } = first.document;
    return report;
  }

  test("the plan of a file has the documented shape", () => {
    expect(Object.keys(plan.document)).toEqual(planKeys);
  });

  test("a run has the documented shape when it is applied and when it is shown", async () => {
    expect(Object.keys(first.document)).toEqual([...runKeys, "results"]);
    expect(Object.keys(first.document.counts)).toEqual(countKeys);
    expect(first.document).toMatchObject({ name: "first", state: "completed", profile: "default", etaSeconds: null });
    const shown = await harness.json(["runs", "show", first.document.runId]);
    expect(Object.keys(shown.document)).toEqual(runKeys);
    expect(shown.document).toEqual(readFirst());
  });

  test("runs are listed in pages", async () => {
    const { runId } = second.document;
    const newest = await harness.json<object>(["runs", "list", "--limit", "1"]);
    expect(newest.document).toMatchObject({ runs: [{ runId }], nextCursor: runId });
    const older = await harness.json(["runs", "list", "--cursor", runId]);
    expect(older.document).toEqual({ runs: [readFirst()], nextCursor: null });
  });

  test("the results of a run have an outcome for each row", async () => {
    const { runId } = first.document;
    const results = await harness.json<{ runId: string; rows: { outcome: string }[] }>(["runs", "results", runId]);
    expect(results.document.runId).toBe(runId);
    expect(counted(results.document.rows.map(({ outcome }) => outcome))).toEqual({ done: 6 });
  });

  test("the quota is that of each bucket, and who waits for it", async () => {
    const quotaOf = () => harness.json<{ buckets: { waiters: unknown[] }[]; nextCursor: null }>(["quota"]);
    let quota = await quotaOf();
    // Who waited is shown for three seconds more.
    await until("all have their calls", async () => {
      quota = await quotaOf();
      return quota.document.buckets.every(({ waiters }) => waiters.length === 0);
    });
    const bucket = `ip.${hostname().replace(/[^A-Za-z0-9_-]/g, "-")}.Auth-auth`;
    const sims = { group: "Sim", operator: "OP0000000001", profiles: ["default"], limit: 2_000, calls: 12 };
    const auths = { bucket, limit: 1_000, calls: 2 };
    const buckets = [sims, auths].map((each) => ({ ...each, throttled: 0, waiters: [] }));
    expect(quota.document).toMatchObject({ buckets, nextCursor: null });
  });

  test("a check has a finding for each thing that it has looked at", async () => {
    const check = await harness.json<{ ok: boolean; findings: { what: string; status: string }[] }>(["check"]);
    expect(check).toMatchObject({ code: 0, document: { ok: true } });
    expect(check.document.findings.map(({ what, status }) => `${what} ${status}`)).toEqual([
      ...["configuration", "redis", "clock", "address", "credentials"].map((what) => `${what} ok`),
      "token warning",
    ]);
  });

  test("a failed command has an error", async () => {
    const unknown = await harness.json(["runs", "show", "r-0"]);
    const message = "There is no run r-0; list the runs with: simfleet runs list";
    expect(unknown).toMatchObject({ code: 2, document: { error: { code: "RUN_NOT_FOUND", message } } });
  });
});

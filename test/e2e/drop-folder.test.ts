/** The drop folder with the built worker: files put there in every way, and rejected ones, whose content is hidden. */
import { appendFileSync, mkdirSync, readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { until } from "../support/until.ts";
import { counted, resultRows } from "./support/results.ts";
import { dumpOf } from "./support/canary.ts";
import { type RunDocument, CliHarness, type CliHarnessOptions } from "./support/cli-harness.ts";

/** A harness whose folder `in` is watched. */
async function setup({ env, ...options }: CliHarnessOptions = {}): Promise<CliHarness> {
  const settings = { SIMFLEET_DROP_FOLDER_PATH: "in", SIMFLEET_DROP_FOLDER_SETTLE_SECONDS: "2", ...env };
  const harness = await CliHarness.open({ sims: 300, ...options, env: settings });
  mkdirSync(harness.path("in"));
  return harness;
}

function filesIn(harness: CliHarness, place: "done" | "failed" | "processing"): string[] {
  return readdirSync(harness.path(`in/${place}`)).toSorted();
}

async function runs(harness: CliHarness): Promise<RunDocument[]> {
  return (await harness.json<{ runs: RunDocument[] }>(["runs", "list"])).document.runs;
}

/** Writes a file of forty rows under its own name, as programs do that take their time. */
async function writeInPieces(harness: CliHarness, name: string): Promise<void> {
  const rows = Array.from({ length: 40 }, (_, n) => `${harness.simId(n)},s1.slow\n`);
  appendFileSync(harness.path(name), "simId,speedClass\n");
  for (let at = 0; at < rows.length; at += 4) {
    appendFileSync(harness.path(name), rows.slice(at, at + 4).join(""));
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
}

test.concurrent("a file that is written in pieces becomes one run, and ends in done/ with its results", async () => {
  await using harness = await setup();
  const worker = await harness.worker();
  await writeInPieces(harness, "in/slowly.csv");
  await until("it has ended", () => filesIn(harness, "done").length === 2, 20_000);
  const [run] = await runs(harness);
  expect(run).toMatchObject({ name: "slowly.csv", state: "completed", submittedBy: "drop-folder" });
  expect(filesIn(harness, "done")).toEqual([`slowly.${run?.runId}.csv`, `slowly.${run?.runId}.results.csv`]);
  const results = resultRows(await harness.read(`in/done/slowly.${run?.runId}.results.csv`));
  expect(counted(results.map(({ outcome = "" }) => outcome))).toEqual({ done: 40 });
  expect(await worker.end()).toMatchObject({ code: 0 });
});

test.concurrent("an invalid file ends in failed/ with what is wrong, and a file of another kind is left alone", async () => {
  await using harness = await setup();
  expect((await harness.run(["check"])).stdout).toMatch(/^ok +drop folder +in$/m);
  await harness.worker();
  await harness.write("in/spoiled.csv", `simId,speedClass\n${harness.simId(50)},s1.fast\n8.94231E+18,s1.fast\n`);
  await harness.write("in/notes.txt", "not for simfleet");
  await until("it has ended", () => filesIn(harness, "failed").length === 2, 20_000);
  const [, problem = ""] = filesIn(harness, "failed");
  expect(problem).toMatch(/^spoiled\.r-\d{8}-\d{6}-\w{8}\.problem\.txt$/);
  const why = await harness.read(`in/failed/${problem}`);
  expect(why).toMatch(/^1 of 2 rows cannot be sent \(the first: line 3: .*\n.*line 3: .*spreadsheet/s);
  expect(harness.sandbox.state.acceptedChanges(harness.simId(50))).toBe(0);
  expect(readdirSync(harness.path("in")).toSorted()).toEqual(["done", "failed", "notes.txt", "processing"]);
  expect(filesIn(harness, "processing")).toEqual([]);
});

const marker = "MARKER-0815";

/** A drop folder that has refused three malformed files. `text`: what it says of them */
async function setupMalformed() {
  const env = { SIMFLEET_DROP_FOLDER_SETTLE_SECONDS: "0.1", SIMFLEET_LOG_LEVEL: "trace" };
  const harness = await setup({ env });
  const worker = await harness.worker();
  await harness.write("in/header.csv", `${marker},${marker}-2\n1,2\n`);
  await harness.write("in/rows.csv", `simId,speedClass\n${marker} x,s1.slow\n${harness.simId(0)},${marker} y\n`);
  await harness.write("in/rounded.csv", "simId,speedClass\n8.94231E+18,s1.slow\n");
  const hasFailed = (): boolean => readdirSync(harness.path("in")).includes("failed");
  await until("all are refused", () => hasFailed() && filesIn(harness, "failed").length === 6);
  const problems = filesIn(harness, "failed").filter((name) => name.endsWith(".problem.txt"));
  const texts = await Promise.all(problems.map((name) => harness.read(`in/failed/${name}`)));
  return Object.assign(harness, { stop: () => worker.end(), text: texts.join("\n") });
}

test.concurrent("a malformed file in the drop folder is reported by its lines and columns", async () => {
  await using harness = await setupMalformed();
  for (const problem of [
    "The header has no column simId. It has 2 columns. Needed: simId and speedClass.",
    "line 2: The cell simId cannot be a SIM ID",
    "line 3: The cell speedClass is not valid for speedClass",
    "line 2: The cell simId is a spreadsheet's rounding",
  ])
    expect(harness.text).toContain(problem);
});

test.concurrent("a malformed file in the drop folder reveals none of its content in reports", async () => {
  await using harness = await setupMalformed();
  const events = (await harness.run(["events", "tail", "--since", "1h", "--json"])).stdout;
  expect(events).toContain("file.rejected");
  const { stdout, stderr } = await harness.stop();
  const shown = [harness.text, events, stdout, stderr, await dumpOf(await harness.redis())].join("\n");
  expect(shown).not.toContain(marker);
  expect(shown).not.toContain("8.94231E+18");
});

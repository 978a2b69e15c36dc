/** The drop folder with the built worker: files put there in every way, refused ones, and a worker that is killed. */
import { appendFileSync, mkdirSync, readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { until } from "../support/until.ts";
import { counted, resultRows } from "./support/results.ts";
import { type RunDocument, CliHarness, type CliHarnessOptions } from "./support/cli-harness.ts";

/** A harness whose folder `in` is watched. */
async function open({ env, ...options }: CliHarnessOptions = {}): Promise<CliHarness> {
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

test.concurrent("files in the drop folder become runs and end in done/ or failed/ with their results", async () => {
  await using harness = await open();
  const check = await harness.run(["check"]);
  expect(check.stdout).toMatch(/^ok +drop folder +in$/m);
  const worker = await harness.worker();
  // Written under its own name, in pieces: whole when it is taken.
  const rows = Array.from({ length: 40 }, (_, n) => `${harness.simId(n)},s1.slow\n`);
  appendFileSync(harness.path("in/slowly.csv"), "simId,speedClass\n");
  for (let at = 0; at < rows.length; at += 4) {
    appendFileSync(harness.path("in/slowly.csv"), rows.slice(at, at + 4).join(""));
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
  await harness.write("in/spoiled.csv", `simId,speedClass\n${harness.simId(50)},s1.fast\n8.94231E+18,s1.fast\n`);
  await harness.write("in/notes.txt", "not for simfleet");
  const blank = Buffer.concat([Buffer.from(`simId,speedClass\n${rows[0]}`), Buffer.alloc(20_000_000, "\n")]);
  await harness.write("in/blank.csv", blank);
  await until(
    "all have ended",
    () => filesIn(harness, "done").length + filesIn(harness, "failed").length === 6,
    20_000,
  );
  const [run] = await runs(harness);
  expect(run).toMatchObject({ name: "slowly.csv", state: "completed", submittedBy: "drop-folder" });
  expect(filesIn(harness, "done")).toEqual([`slowly.${run?.runId}.csv`, `slowly.${run?.runId}.results.csv`]);
  const results = resultRows(await harness.read(`in/done/slowly.${run?.runId}.results.csv`));
  expect(counted(results.map(({ outcome = "" }) => outcome))).toEqual({ done: 40 });
  const [, tooLong = "", , problem = ""] = filesIn(harness, "failed");
  expect(await harness.read(`in/failed/${tooLong}`)).toMatch(/^The file has more than 2000000 rows/);
  expect(problem).toMatch(/^spoiled\.r-\d{8}-\d{6}-\w{8}\.problem\.txt$/);
  const why = await harness.read(`in/failed/${problem}`);
  expect(why).toMatch(/^1 of 2 rows cannot be sent \(the first: line 3: .*\n.*line 3: .*spreadsheet/s);
  expect(harness.sandbox.state.acceptedChanges(harness.simId(50))).toBe(0);
  expect([readdirSync(harness.path("in")).toSorted(), filesIn(harness, "processing")]).toEqual([
    ["done", "failed", "notes.txt", "processing"],
    [],
  ]);
  worker.kill("SIGTERM");
  expect(await worker.ended).toMatchObject({ code: 0 });
});

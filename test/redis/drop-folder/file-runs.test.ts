/** Which files are rejected, with which messages, and what is no reason to reject one. */
import { writeFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { openTestRedis } from "../../support/redis.ts";
import { allRuns } from "../ledger/run-of.ts";
import { dropParts } from "./drop-harness.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const { redis, keys, connect } = openTestRedis();
const folder = temporaryFolder(afterAll);

const onIncident = (): void => undefined;
const { runs, ledger } = dropParts({
  redis,
  connect,
  keys,
  path: folder,
  profile: "default",
  onIncident,
  maxChanges: 3,
});

function fileOf(rows: readonly string[]): string {
  const path = join(folder, `${rows.length}.csv`);
  writeFileSync(path, ["simId,speedClass", ...rows, ""].join("\n"));
  return path;
}

const row = (n: number, speedClass = "s1.fast"): string => `${8_942_300_000_000_000_000n + BigInt(n)},${speedClass}`;

const submit = (path: string, runId = runs.newRunId()) => runs.submit(path, { runId, name: "fleet.csv" });

describe("runs of drop folder files", () => {
  it("a file becomes one run when submitted repeatedly under one id", async () => {
    const runId = runs.newRunId();
    const path = fileOf([row(1), row(2)]);
    for (let time = 0; time < 3; time += 1) expect(await submit(path, runId)).toBeUndefined();
    const all = await allRuns(ledger);
    expect(all).toMatchObject([{ runId, name: "fleet.csv", submittedBy: "drop-folder" }]);
    expect(await runs.status(runId)).toEqual({ isOver: false });
    await ledger.move(runId, "cancelled", ["running"], { reason: "not today" });
    const ended = { isOver: true, isGood: false, state: "cancelled", reason: "not today" };
    expect(await runs.status(runId)).toMatchObject(ended);
  });

  it("a file is rejected with a list of all invalid rows", async () => {
    const path = fileOf([row(1), "8.94231E+18,s1.fast", row(3, "")]);
    const refusal = await submit(path);
    expect(refusal?.reason).toMatch(/^2 of 3 rows cannot be sent \(the first: line 3: /);
    expect(refusal?.faults).toEqual([
      expect.stringMatching(/^line 3: .*spreadsheet/),
      expect.stringMatching(/^line 4: /),
    ]);
  });

  it("a file is refused when it exceeds the size limit of a run", async () => {
    const refusal = await submit(fileOf([1, 2, 3, 4].map((n) => row(n))));
    expect(refusal).toMatchObject({ reason: expect.stringContaining("The run has 4 changes"), faults: [] });
  });

  it("a results file is refused, and no run is made of it", async () => {
    const path = join(folder, "fleet.r-1.results.csv");
    writeFileSync(path, `simId,speedClass,outcome,attempts,finishedAt\n${row(1)},done,1,2026-11-20T08:00:00Z\n`);
    const runId = runs.newRunId();
    expect(await submit(path, runId)).toEqual({
      reason: expect.stringContaining("This is a results file: it has the columns outcome, attempts, finishedAt"),
      faults: [],
    });
    expect(await runs.status(runId)).toBeUndefined();
  });

  it("a file is not refused when it is temporarily unreadable", async () => {
    await expect(submit(join(folder, "gone.csv"))).rejects.toThrow(/gone\.csv/);
  });

  it("a file is refused if it is no longer a regular file", async () => {
    const link = join(folder, "link.csv");
    symlinkSync("/etc/hostname", link);
    for (const path of [folder, link]) {
      const refusal = await submit(path);
      expect(refusal).toEqual({ reason: expect.stringMatching(/is a (folder|symbolic link)/), faults: [] });
    }
  });
});

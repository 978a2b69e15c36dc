/** The end of a command that follows a run: reasons, results file, and a last line that agrees with the exit code. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import type { Client } from "#contract/client.ts";
import { openOutput } from "#cli/output.ts";
import { resultsPathOf, showToEnd, topReasons } from "#jobs/runs/commands/end-of-run.ts";
import { downloadResults, type RunReport, type RunSummary, showRun, showRunSummary } from "#jobs/runs/contract.ts";
import { runText, stateName } from "#jobs/runs/commands/run-text.ts";
import { assertCanWrite } from "#core/files/output-file.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const folder = temporaryFolder(afterAll);

const none = { done: 0, skipped: 0, rejected: 0, failed: 0, unknown: 0, cancelled: 0, pending: 0 };

function reportOf(counts: Partial<RunReport["counts"]>, more: Partial<RunReport> = {}): RunReport {
  const sum = Object.values(counts).reduce((total, count) => total + count, 0);
  const at = "2026-11-20T08:00:00.000Z";
  return {
    runId: "r-1",
    name: "fleet.csv",
    state: "completed",
    profile: "default",
    operation: "set-speed-class",
    changes: [],
    changesInAll: sum,
    counts: { ...none, total: sum, ...counts },
    calls: sum,
    throttled: 0,
    startedAt: at,
    finishedAt: at,
    etaSeconds: null,
    ...more,
  };
}

/** A worker whose run has ended. */
function clientOf(report: RunReport, reasons: readonly RunSummary["reasons"][number][] = []): Client {
  const call = (route: unknown): unknown => {
    if (route === showRun) return Promise.resolve(report);
    if (route === showRunSummary) return Promise.resolve({ reasons });
    expect(route).toBe(downloadResults);
    return Promise.resolve(pieces(["simId,outcome\n"]));
  };
  return { call: call as Client["call"] };
}

async function* pieces(texts: readonly string[]): AsyncGenerator<string> {
  for (const text of texts) yield await Promise.resolve(text);
}

async function shown(report: RunReport, resultsPath: string): Promise<{ code: number; stdout: string; last: string }> {
  const written = { stdout: "", stderr: "" };
  const stdout = { write: (text: string) => (written.stdout += text) };
  const stderr = { write: (text: string) => (written.stderr += text) };
  const interrupt = new AbortController().signal;
  const follow = (): never => {
    throw new Error("not used");
  };
  const output = openOutput({ isJson: false, stdout, stderr });
  const code = await showToEnd(
    { client: clientOf(report), app: undefined, profile: undefined, output, interrupt, follow },
    report,
    resultsPath,
  );
  return { code, stdout: written.stdout, last: written.stderr.trimEnd().split("\n").at(-1) ?? "" };
}

describe("the last line of a command that follows a run", () => {
  test.each([
    [{ done: 1 }, 0, "Success: the row is done."],
    [{ done: 1_200, skipped: 34 }, 0, "Success: all 1,234 rows are done or skipped."],
    [{ skipped: 3 }, 0, "Nothing was changed: all 3 rows were skipped."],
    [{ done: 46, rejected: 15 }, 1, "Not all 61 rows are done: 15 rejected."],
    [{ done: 1, failed: 2, cancelled: 3 }, 1, "Not all 6 rows are done: 2 failed, 3 cancelled."],
    [{ unknown: 1 }, 1, "The row is not done: 1 unknown."],
  ])("after the counts %o agrees with exit code %d", async (counts, code, last) => {
    const path = join(folder, "results.csv");
    expect(await shown(reportOf(counts), path)).toMatchObject({ code, last });
    expect(await readFile(path, "utf8")).toBe("simId,outcome\n");
  });

  test("is the error if the results cannot be written", async () => {
    const { code, last, stdout } = await shown(reportOf({ done: 1 }), join(folder, "nowhere", "results.csv"));
    expect(code).toBe(4);
    expect(last).toMatch(/^simfleet: .*results\.csv could not be written: .* simfleet runs results r-1 --out FILE$/);
    expect(stdout).toContain("1 of 1 done");
  });
});

describe("the most frequent reasons", () => {
  test("are the first three of the summary, without those of cancelled rows", async () => {
    const reasons = [
      { outcome: "failed", reason: "Internal error (500).", rows: 3 },
      { outcome: "cancelled", reason: "cancelled by cli:anna", rows: 3 },
      { outcome: "rejected", reason: "There is no SIM ….", rows: 2 },
      { outcome: "failed", reason: "No answer within 10 s.", rows: 1 },
      { outcome: "unknown", reason: "No answer within 10 s.", rows: 1 },
    ] as const;
    const [first, , ...others] = reasons;
    const found = await topReasons(clientOf(reportOf({}), reasons), reportOf({ rejected: 3, failed: 4 }));
    expect(found).toEqual([first, ...others.slice(0, 2)]);
  });
});

describe("the path of the results", () => {
  test.each([
    ["fleet.csv", "fleet.r-1.results.csv"],
    ["fleet.csv (retry)", "fleet.r-1.results.csv"],
    ["../../etc/fleet.csv", "fleet.r-1.results.csv"],
    ["tags.site=berlin", undefined],
    [".csv", undefined],
    ["..", undefined],
    ["a\u001B[31m.csv", undefined],
  ])("of a run named %j that is resumed is %s", (name, path) => {
    expect(resultsPathOf({ runId: "r-1", name })).toBe(path);
  });

  test("is refused before anything starts if nobody can write to it", async () => {
    await expect(assertCanWrite(join(folder, "nowhere", "a.csv"))).rejects.toMatchObject({
      code: "RESULTS_NOT_WRITABLE",
      message: expect.stringMatching(/nowhere.*Nothing was started; choose another path with --out$/) as string,
    });
    await expect(assertCanWrite(folder)).rejects.toThrow("it is a folder");
    await assertCanWrite(join(folder, "a.csv"));
    await assertCanWrite("/dev/null");
    await assertCanWrite(undefined);
  });
});

test("a completed run with rows that are not done says so, and one without calls is frozen or has a problem", () => {
  expect(stateName(reportOf({ done: 79, rejected: 16, failed: 1 }))).toBe("completed, 17 not done");
  expect(stateName(reportOf({ done: 79, skipped: 1 }))).toBe("completed");
  expect(runText(reportOf({ done: 79, rejected: 17 }))).toContain(
    "\n  completed, 17 not done\n  79 of 96 done, 17 rejected\n",
  );
  const frozen = reportOf(
    { pending: 2 },
    { state: "running", finishedAt: null, frozen: "cli:anna has frozen all changes" },
  );
  expect(stateName(frozen)).toBe("running (frozen)");
  expect(runText(frozen)).toContain("\n  changes are frozen: cli:anna has frozen all changes");
});

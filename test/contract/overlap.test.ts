/** Two runs on the same SIMs: what is said before the second one starts, what happens, and what is said afterward. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { RunReport } from "#jobs/runs/contract.ts";
import { until } from "../support/until.ts";
import { runCommand } from "./support/run-command.ts";
import { workerOfFile } from "./support/run-requests.ts";

const { harness, requests } = await workerOfFile({ sandbox: { sims: 20 } });

const places = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, i) => from + i);
const file = (from: number, to: number, speedClass: string): string =>
  `simId,speedClass\n${places(from, to)
    .map((place) => `${harness.simId(place)},${speedClass}\n`)
    .join("")}`;
const classOf = (place: number) => harness.sandbox.state.speedClassOf(harness.simId(place));
/** Pauses a run, and waits until it stands still. */
async function pause(runId: string): Promise<void> {
  await requests.ask(`/v1/runs/${runId}/pause`, { method: "POST" });
  await until("it stands still", async () => (await harness.runs.record(runId)).isHeld === false);
}
const show = (runId: string) => requests.ask<RunReport>(`/v1/runs/${runId}`);

/** A paused run, which has made a call. `sentence`: what the plan of another one for its SIMs has to say */
async function setupOlder() {
  const { runId } = await requests.start("rate=6&skipUnchanged=false", file(0, 12, "s1.slow"));
  await until("it has made a call", async () => (await show(runId)).counts.done > 0);
  await pause(runId);
  const { pending } = (await show(runId)).counts;
  return { runId, pending, sentence: `${pending} SIMs have pending changes in run ${runId}; they will be superseded` };
}

test("a plan says which pending changes it supersedes", async () => {
  const { runId, pending, sentence } = await setupOlder();
  const rows = file(0, 14, "s1.fast");
  const plan = await requests.plan("", rows);
  expect(plan.supersedes).toEqual([{ runId, sims: pending }]);
  expect(plan.warnings).toContain(sentence);
  const path = join(harness.folder, "fleet.csv");
  await writeFile(path, rows);
  for (const where of ["local", "remote"] as const) {
    expect((await runCommand(harness, ["plan", path], where)).stdout).toContain(`warning: ${sentence}\n`);
  }
  await requests.ask(`/v1/runs/${runId}/cancel`, { method: "POST" });
});

/** Two runs, of which the newer one started while both had calls to make. @returns what they say at their end */
async function setupBoth() {
  const { runId } = await setupOlder();
  const plan = await requests.plan("skipUnchanged=false", file(0, 14, "s1.fast"));
  await requests.ask(`/v1/runs/${runId}/resume`, { method: "POST" });
  const newer = await requests.ask<RunReport>(`/v1/runs?planId=${plan.planId}`, { method: "POST" });
  return { newer: await requests.ended(newer.runId), older: await requests.ended(runId) };
}

test("the run that starts last wins, and the report and the results of the older one say so", async () => {
  const { newer, older } = await setupBoth();
  expect(newer.counts).toMatchObject({ total: 14, done: 14 });
  expect(places(0, 14).map(classOf)).toEqual(places(0, 14).map(() => "s1.fast"));
  const { done, skipped } = older.counts;
  expect(done + skipped).toBe(12);
  expect(skipped).toBeGreaterThan(0);
  expect(older.supersededBy).toEqual([{ runId: newer.runId, rows: skipped }]);
  const reasons = (await requests.rowsOf(older.runId)).filter(({ outcome }) => outcome === "skipped");
  expect(new Set(reasons.map(({ reason }) => reason))).toEqual(new Set([`superseded by run ${newer.runId}`]));
  const shown = await runCommand(harness, ["runs", "show", older.runId], "remote");
  expect(shown.stdout).toContain(`  ${skipped} row${skipped === 1 ? "" : "s"} superseded by ${newer.runId}\n`);
});

test("the plan of an undo says what it supersedes", async () => {
  await requests.become({ speedClass: "s1.slow" }, [15, 16]);
  const changed = await requests.complete("", file(15, 17, "s1.fast"));
  const waiting = await requests.start("rate=1", file(14, 17, "s1.minimum"));
  await pause(waiting.runId);
  const sentence = `2 SIMs have pending changes in run ${waiting.runId}; they will be superseded`;
  const plan = await requests.planOf({ undoOf: changed.runId });
  expect(plan.warnings).toEqual([sentence]);
  const undone = await runCommand(harness, ["runs", "undo", changed.runId, "--yes", "--no-sync", "--detach"], "remote");
  expect(undone.stderr).toContain(`${sentence}.\n`);
  await requests.ended(undone.stdout.trim());
  expect([classOf(15), classOf(16)]).toEqual(["s1.slow", "s1.slow"]);
});

test("a speed class that the platform definition does not list is invalid, unless it is allowed", async () => {
  const body = file(18, 20, "s1.fsat");
  const plan = await requests.plan("", body);
  const why = "lists no speed class s1.fsat, so it would be rejected. Did you mean s1.fast?";
  const problems = [{ code: "value-invalid", message: expect.stringContaining(why) as string }, {}];
  expect(plan).toMatchObject({ calls: 0, verdicts: { invalid: 2 }, problems });
  const allowed = await requests.plan("allowUnlisted=true", body);
  expect(allowed).toMatchObject({ calls: 2, verdicts: { change: 2, invalid: 0 } });
  const path = join(harness.folder, "unlisted.csv");
  await writeFile(path, body);
  const refused = await runCommand(harness, ["plan", path], "remote");
  expect([refused.code, refused.stdout]).toEqual([2, expect.stringContaining("--allow-unlisted")]);
  expect((await runCommand(harness, ["plan", path, "--allow-unlisted"], "remote")).code).toBe(0);
});

/** Rows that change nothing: by default they are not sent where what the inventory says is fresh. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { systemClock } from "#core/time.ts";
import type { PlanReport, RunReport } from "#jobs/runs/contract.ts";
import { until } from "../support/until.ts";
import { ControlHarness } from "./support/control-harness.ts";
import { runCommand } from "./support/run-command.ts";
import { RunRequests } from "./support/run-requests.ts";

const rows = 20;
const harness = await ControlHarness.ofFile({ works: true, sandbox: { sims: rows + 5, limits: { Sim: 1_000 } } });
const requests = new RunRequests(harness);
await requests.complete("", harness.csv(rows));

async function post<T = PlanReport>(path: string, body = harness.csv(rows)): Promise<T> {
  return (await (await harness.upload(`/v1/${path}`, body)).json()) as T;
}

/** A file that gives these SIMs a class. */
function csvOf(speedClass: string, places: readonly number[]): string {
  return `simId,speedClass\n${places.map((n) => `${harness.simId(n)},${speedClass}\n`).join("")}`;
}

const sent = ({ calls, verdicts, unchangedSkipped }: PlanReport) => [verdicts.unchanged, unchangedSkipped, calls];

test("the same file again makes no call, unless it is asked for", async () => {
  expect(sent(await post("plans"))).toEqual([rows, rows, 0]);
  expect(sent(await post("plans?skipUnchanged=false"))).toEqual([rows, 0, rows]);
  const { runId } = await post<RunReport>("runs");
  const counts = { skipped: rows, done: 0 };
  expect(await harness.runs.show(runId)).toMatchObject({ state: "completed", calls: 0, counts });
});

test("rows are sent whose record is older than a day, unless they are to be skipped in any case", async () => {
  const nowMs = systemClock.wallMs();
  const clock = vi.spyOn(systemClock, "wallMs").mockImplementation(() => nowMs + 26 * 3_600_000);
  try {
    expect(sent(await post("plans"))).toEqual([rows, 0, rows]);
    expect(sent(await post("plans?skipUnchanged=true"))).toEqual([rows, rows, 0]);
  } finally {
    clock.mockRestore();
  }
});

test("rows are sent while another run of the account is in progress", async () => {
  const { runId } = await post<{ runId: string }>("runs?rate=1", csvOf("s1.4xfast", [20, 21, 22, 23, 24]));
  await harness.runs.control.pause(runId, { by: "test", reason: "it goes on later" });
  expect(sent(await post("plans"))).toEqual([rows, 0, rows]);
  await harness.runs.control.cancel(runId, { by: "test", reason: "the test is over" });
});

test("the command says what is sent, and --send-unchanged sends it all", async () => {
  await until("no run is in progress", async () => (await post("plans")).unchangedSkipped === rows);
  const path = join(harness.folder, "fleet.csv");
  writeFileSync(path, harness.csv(rows));
  const plan = await runCommand(harness, ["plan", path], "remote");
  expect(plan.stdout).toContain("20 already have the class, according to the inventory: not sent");
  const skipped = await runCommand(harness, ["apply", path, "--yes"], "remote");
  expect([skipped.code, skipped.stdout]).toEqual([0, expect.stringContaining("0 of 20 done, 20 skipped")]);
  expect(skipped.stdout).toContain("set-speed-class on OP0000000001 (default): nothing to change");
  const all = await runCommand(harness, ["apply", path, "--yes", "--send-unchanged"], "remote");
  expect([all.code, all.stdout]).toEqual([0, expect.stringContaining("20 of 20 done")]);
});

const account = { profile: "default", operator: "OP0000000001", operation: "set-speed-class" };

/** Changes two SIMs by a plan of which two more rows contradict each other. */
async function change() {
  const [a, b, c] = Array.from({ length: 3 }, (_, n) => harness.simId(n));
  const file = `simId,speedClass\n${a},s1.minimum\n${b},s1.minimum\n${c},s1.slow\n${c},s1.fast\n`;
  const plan = await requests.plan("partial=true", file);
  const { runId } = await requests.ask<RunReport>(`/v1/runs?planId=${plan.planId}`, { method: "POST" });
  return { plan, runId, run: await requests.ended(runId) };
}

/** Undoes a run. @returns the id of the run that does it */
async function undo(runId: string): Promise<string> {
  const { runId: undoId } = await requests.ask<RunReport>(`/v1/runs/${runId}/undo`, { method: "POST" });
  return (await requests.ended(undoId)).runId;
}

test("a plan, its run and its undo say what changes: the account, and values before and after with counts", async () => {
  const { plan, run, runId } = await change();
  const changes = [{ from: "s1.fast", to: "s1.minimum", count: 2 }];
  for (const each of [plan, run]) expect(each).toMatchObject({ ...account, changes, changesInAll: 2 });
  const back = [{ from: "s1.minimum", to: "s1.fast", count: 2 }];
  expect(await requests.planOf({ undoOf: runId })).toMatchObject({ ...account, changes: back });
  await undo(runId);
});

test("a second undo is refused, since there is nothing to restore", async () => {
  const { runId } = await change();
  await undo(runId);
  const why = "nothing to restore (2 rows: it has s1.fast now, not s1.minimum from the run)";
  const detail = `Run ${runId} was not undone: ${why}. Nothing was started`;
  const again = await requests.send(`/v1/runs/${runId}/undo`, { method: "POST" });
  expect(again).toMatchObject({ status: 409, body: { detail } });
  expect((await runCommand(harness, ["runs", "undo", runId, "--yes", "--no-sync"], "remote")).code).toBe(2);
});

test("the audit log says what a run and its undo have changed", async () => {
  const { runId } = await change();
  const undoId = await undo(runId);
  const { entries } = await requests.ask<{ entries: object[] }>("/v1/audit?limit=20", {}, "admin");
  const text = "set-speed-class on OP0000000001 (default)";
  const made = { made: runId, about: `${text}: s1.fast → s1.minimum 2`, action: "POST /v1/runs" };
  expect(entries).toContainEqual(expect.objectContaining(made));
  const about = `undid ${runId} by ${undoId}: ${text}: s1.minimum → s1.fast 2`;
  expect(entries).toContainEqual(expect.objectContaining({ target: runId, made: undoId, about, result: "done" }));
});

test("a plan that leaves unchanged SIMs out looks again when it starts", async () => {
  const plan = await requests.plan("skipUnchanged=true", harness.csv(3, "s1.standard"));
  await requests.become({ speedClass: "s1.standard" }, [0, 1]);
  const { runId } = await requests.ask<RunReport>(`/v1/runs?planId=${plan.planId}`, { method: "POST" });
  expect(plan.calls).toBe(3);
  expect(await requests.ended(runId)).toMatchObject({ calls: 1, counts: { done: 1, skipped: 2 } });
});

test("a retry sends the rows that were chosen, although their SIMs became as requested", async () => {
  await requests.become({ speedClass: "s1.slow" }, [4, 5, 10]);
  const { runId } = await requests.start("skipUnchanged=true&rate=1", csvOf("s1.fast", [4, 5, 10]));
  await requests.ask(`/v1/runs/${runId}/cancel`, { method: "POST" });
  const { cancelled } = (await requests.ended(runId)).counts;
  expect(cancelled).toBeGreaterThan(0);
  await requests.become({ speedClass: "s1.fast" }, [4, 5, 10]);
  const retry = await requests.ask<RunReport>(`/v1/runs/${runId}/retry`, { method: "POST" });
  await until("a row is sent, at the rate of the run", async () => (await harness.runs.show(retry.runId)).calls > 0);
  await requests.ask(`/v1/runs/${retry.runId}/cancel`, { method: "POST" });
  expect((await requests.ended(retry.runId)).counts).toMatchObject({ done: 1, skipped: 0 });
});

test("the rows of a canary are sent, although their SIMs became as requested", async () => {
  const { planId } = await requests.plan("skipUnchanged=true&canary=2", csvOf("s1.4xfast", [6, 7, 8, 9]));
  await requests.become({ speedClass: "s1.4xfast" }, [6, 7, 8]);
  const { runId } = await requests.ask<RunReport>(`/v1/runs?planId=${planId}`, { method: "POST" });
  expect(await requests.ended(runId)).toMatchObject({ state: "completed", calls: 3, counts: { done: 3, skipped: 1 } });
});

test("a local command tells the audit log what it has done", async () => {
  const path = join(harness.folder, "local.csv");
  writeFileSync(path, `simId,speedClass\n${harness.simId(1)},s1.slow\n`);
  const { stdout } = await runCommand(harness, ["apply", path, "--yes", "--detach"], "local");
  const listed = await runCommand(harness, ["audit", "list", "-n", "1", "--json"], "local");
  const about = expect.stringMatching(/^set-speed-class on .* → s1\.slow 1$/) as string;
  expect(JSON.parse(listed.stdout)).toMatchObject({ entries: [{ target: path, made: stdout.trim(), about }] });
});

test("a file that apply rejects leaves no plan behind", async () => {
  const path = join(harness.folder, "invalid.csv");
  writeFileSync(path, `${harness.csv(2)}no/sense,s1.fast\n`);
  const stderr = expect.stringMatching(/1 of 3 rows cannot be sent \(the first: line 4: .* --partial/) as string;
  for (const where of ["local", "remote"] as const) {
    const refused = await runCommand(harness, ["apply", path, "--yes"], where);
    expect(refused).toMatchObject({ code: 2, stdout: "", stderr });
  }
  const { runs } = await harness.runs.list({ limit: 100, state: "planned" });
  expect(runs.map(({ name }) => name)).not.toContain("invalid.csv");
});

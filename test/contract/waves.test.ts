/** Runs in waves: after a wave its SIMs are read again; the share that meets the gate decides about the next. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { systemClock } from "#core/time.ts";
import type { PlanDocument, RunReport } from "#jobs/runs/contract.ts";
import { until } from "../support/until.ts";
import { ControlHarness } from "./support/control-harness.ts";
import { runCommand } from "./support/run-command.ts";

const gate = "sessionStatus.online=true >= 95%";
const fields = "[speedClass, groupId, status, sessionStatus, terminationEnabled]";
const sims = 1_500;
const options = {
  sims,
  operations: "all",
  limits: { Sim: 20_000 },
  takesOffline: { updateSimSpeedClass: 0.3 },
} as const;
const harness = await ControlHarness.ofFile({
  works: true,
  sandbox: options,
  env: {
    SIMFLEET_DEPLOYMENT: "soracom",
    SIMFLEET_BRAND: "Svc",
    SIMFLEET_COVERAGE: "g",
    SIMFLEET_INVENTORY_FIELDS: fields,
  },
});
const calls = harness.sandbox.state.totals.byOperation;

/** SIMs that no other test uses. */
let used = 0;
function take(count: number): string[] {
  used += count;
  return Array.from({ length: count }, (_, i) => harness.simId(used - count + i));
}

async function ask<T>(path: string, body?: string, method = "POST"): Promise<T> {
  const headers = { "content-type": "text/csv" };
  const init = body === undefined ? { method } : { method, body, headers };
  const answer = await harness.ask(`/v1${path}`, { as: "operator", ...init });
  const document = (await answer.json()) as T;
  if (!answer.ok) throw new Error(JSON.stringify(document));
  return document;
}

/** A good change puts SIMs into a group; the other one, of their class, takes 30 % of them offline. */
const good = "operation=set-group&set.groupId=6f1f0d52-stadium";
const bad = "set.speedClass=s1.slow";

function query(change: string, more: Readonly<Record<string, string>>): string {
  return `${change}&skipUnchanged=false&${String(new URLSearchParams({ gate, soak: "1s", ...more }))}`;
}

function start(ids: readonly string[], change: string, more: Readonly<Record<string, string>>): Promise<RunReport> {
  return ask<RunReport>(`/runs?${query(change, more)}`, `simId\n${ids.join("\n")}\n`);
}

const show = (runId: string): Promise<RunReport> => harness.runs.show(runId);

async function reaches(runId: string, isSo: (run: RunReport) => boolean): Promise<RunReport> {
  await until("the run is so far", async () => isSo(await show(runId)), 30_000, 200);
  return show(runId);
}

const rests = (runId: string): Promise<RunReport> => reaches(runId, ({ state }) => state !== "running");
const soaks = (runId: string): Promise<RunReport> => reaches(runId, ({ wave }) => wave?.state === "soaking");

const onlineOf = (id: string): boolean =>
  harness.sandbox.state.sims.factsAt(harness.sandbox.state.placeOf(id) ?? -1).sessionStatus.online;

beforeAll(async () => {
  const all = Array.from({ length: sims }, (_, i) => ({
    id: harness.simId(i),
    set: { sessionStatus: { online: true }, status: "active", terminationEnabled: true },
  }));
  harness.sandbox.fleet.change({ edit: all });
  await harness.sync();
});

describe("a run in waves with a gate", () => {
  test("a good change goes through all waves, and reads as many SIMs as its plan says", async () => {
    const ids = take(100);
    const more = { waves: "20,50%,100%", sample: "25" };
    const { waves } = await ask<PlanDocument>(`/plans?${query(good, more)}`, `simId\n${ids.join("\n")}\n`);
    const parts = waves?.parts.map((part) => `${part.met} of ${part.sims}, ${part.judged} judged`);
    expect(parts).toEqual(["20 of 20, 20 judged", "30 of 30, 25 judged", "50 of 50, 0 judged"]);
    expect(waves).toMatchObject({ reads: 45, soakSeconds: 1, gate, onFailure: "pause" });
    const before = calls["getSim"] ?? 0;
    const run = await rests((await start(ids, good, more)).runId);
    expect(run).toMatchObject({ state: "completed", counts: { done: 100 }, calls: 100, throttled: 0 });
    expect((calls["getSim"] ?? 0) - before).toBe(45);
    const held = (judged: number) => ({ check: { judged, before: judged, after: judged, isHeld: true } });
    expect(run.waves?.parts).toMatchObject([held(20), held(25), { check: null }]);
  });

  test("a plan can be started in waves, and refuses a gate, for which it has not counted", async () => {
    const body = `simId\n${take(100).join("\n")}\n`;
    const { planId } = await ask<PlanDocument>(`/plans?${good}&skipUnchanged=false`, body);
    const startIn = (waves: string) => ask<RunReport>(`/runs?planId=${planId}&${waves}`);
    const refused = startIn(String(new URLSearchParams({ waves: "20,100%", gate })));
    await expect(refused).rejects.toThrow("without others but confirm, rate, maxFailures, canary, waves, soak");
    const { runId } = await startIn("waves=20,50%,100%");
    const { counts, waves } = await rests(runId);
    expect([counts.done, waves?.parts.map((part) => part.sims)]).toEqual([100, [20, 30, 50]]);
  });

  test("a plan with a gate keeps it: it is not started with another canary", async () => {
    const body = `simId\n${take(10).join("\n")}\n`;
    const { planId } = await ask<PlanDocument>(`/plans?${query(good, { waves: "5,100%" })}`, body);
    await expect(ask(`/runs?planId=${planId}&canary=2`)).rejects.toThrow(`${planId} has waves with a gate`);
    const { runId } = await ask<RunReport>(`/runs?planId=${planId}`);
    expect(await rests(runId)).toMatchObject({ state: "completed", waves: { gate } });
  });

  test("a change that takes SIMs offline pauses after its first wave, with the numbers and the SIMs", async () => {
    const ids = take(200);
    const run = await rests((await start(ids, bad, { waves: "60,100%" })).runId);
    const offline = ids.slice(0, 60).filter((id) => !onlineOf(id));
    const after = 60 - offline.length;
    const check = { judged: 60, before: 60, after, isHeld: false, lost: offline.slice(0, 20) };
    expect(run.waves?.parts[0]?.check).toEqual(check);
    expect(run).toMatchObject({ state: "paused", counts: { done: 60, pending: 140 }, calls: 60, wave: { number: 2 } });
    const shares = `${after} of 60 SIMs meet it (${((100 * after) / 60).toFixed(1)}%), 60 before (100.0%)`;
    expect(run.reason).toBe(
      `wave 1 of 2 does not hold the gate ${gate}: ${shares}; no longer: ${offline.slice(0, 3).join(", ")}, …. Undo it with: simfleet runs undo ${run.runId}`,
    );
    const shown = await runCommand(harness, ["runs", "show", run.runId], "local");
    expect(shown.stdout).toContain("of 60 SIMs meet the gate, 100.0% before: not held");
  });

  test("a run that its gate has paused can be undone, and goes on with the next wave when it is resumed", async () => {
    const ids = take(100);
    const { runId } = await rests((await start(ids, bad, { waves: "60,100%" })).runId);
    const undo = await ask<RunReport>(`/runs/${runId}/undo`);
    expect(await rests(undo.runId)).toMatchObject({ state: "completed", undoOf: runId, counts: { total: 60 } });
    await ask(`/runs/${runId}/resume`);
    expect(await rests(runId)).toMatchObject({ state: "completed", counts: { done: 100 } });
  });

  test("with onFailure undo, the run pauses and one undo restores what it has changed", async () => {
    const ids = take(80);
    const { runId } = await start(ids, bad, { waves: "60,100%", onFailure: "undo" });
    const { state, reason = "", calls: made } = await rests(runId);
    const [, undoId = ""] = /Run (\S+) undoes it$/.exec(reason) ?? [];
    expect([state, made]).toEqual(["paused", 60]);
    expect(await rests(undoId)).toMatchObject({ state: "completed", undoOf: runId, submittedBy: `run:${runId}` });
    const { runs } = await ask<{ runs: RunReport[] }>("/runs?limit=100", undefined, "GET");
    expect(runs.filter(({ undoOf }) => undoOf === runId)).toHaveLength(1);
    const slow = ids.slice(0, 60).filter((id) => harness.sandbox.state.speedClassOf(id) === "s1.slow");
    expect(slow.length).toBeLessThan(30);
  });

  test("a gate that the SIMs do not meet is refused before the first call, with the numbers", async () => {
    const ids = take(100);
    const off = ids.slice(0, 12).map((id) => ({ id, set: { sessionStatus: { online: false } } }));
    harness.sandbox.fleet.change({ edit: off });
    await harness.sync();
    const before = calls["setSimGroup"];
    await expect(start(ids, good, { waves: "60,100%" })).rejects.toThrow(
      "is not met before the run: 48 of 60 SIMs of wave 1 meet it (80.0%), according to the inventory. Nothing was started",
    );
    expect(calls["setSimGroup"]).toBe(before);
    expect(await harness.redis().keys("*:draft:*")).toEqual([]);
  });

  test("a wave with fewer SIMs than minSample is not judged: the next one begins after the soak", async () => {
    const ids = take(30);
    const run = await rests((await start(ids, bad, { waves: "10,100%", minSample: "20" })).runId);
    expect(run).toMatchObject({ state: "completed", waves: { reads: 0, parts: [{ judged: 0, check: null }, {}] } });
  });

  test("the plan of a run in waves says how many SIMs of each are judged, and how many meet the gate now", async () => {
    const path = join(harness.folder, "ids.csv");
    await writeFile(path, `simId\n${take(30).join("\n")}\n`);
    const words = ["--waves", "10,20,100%", "--gate", gate, "--min-sample", "10", "--speed-class", "s1.fast"];
    const { stdout } = await runCommand(harness, ["plan", path, ...words], "local");
    expect(stdout).toContain("waves of 10 (10 judged), 10 (10 judged), 10 SIMs");
    expect(stdout).toContain(`gate: ${gate} (now 100.0%, 100.0%, 100.0%), else pause; 20 SIMs read again`);
  });

  test("the calls that read SIMs again keep to the quota, and none is made twice", async () => {
    const ids = take(60);
    const { totals } = harness.sandbox.state;
    harness.sandbox.throttle.changeLimit({ group: "Sim", limit: 15, afterMs: 0 });
    await rests((await start(take(1), good, { waves: "1,100%" })).runId); // learns the new limit
    const before = [calls["getSim"] ?? 0, totals.throttled] as const;
    const run = await rests((await start(ids, good, { waves: "40,100%" })).runId);
    harness.sandbox.throttle.changeLimit({ group: "Sim", limit: 20_000, afterMs: 0 });
    expect(run).toMatchObject({ state: "completed", throttled: 0 });
    expect([(calls["getSim"] ?? 0) - before[0], totals.throttled - before[1]]).toEqual([40, 0]);
  });

  test("a canary is the waves N and 100 %: a failed row of it ends the run", async () => {
    const ids = [...take(3), "8942319999999999999", ...take(30)];
    const rows = `simId,groupId\n${ids.map((id) => `${id},6f1f0d52-stadium`).join("\n")}\n`;
    const run = await ask<RunReport>("/runs?operation=set-group&canary=5&skipUnchanged=false", rows);
    const ended = await rests(run.runId);
    expect(ended).toMatchObject({ state: "aborted", reason: "a canary row failed", counts: { done: 4, rejected: 1 } });
    expect(ended.waves?.parts.map((part) => part.sims)).toEqual([5, 29]);
  });
});

describe("between two waves", () => {
  test("a pause lets the soak end, and the check comes with the resume", async () => {
    const { runId } = await start(take(40), good, { waves: "20,100%", soak: "2s" });
    const { wave } = await soaks(runId);
    await ask(`/runs/${runId}/pause`);
    await until("the soak is over", () => Date.now() > Date.parse(wave?.until ?? "") + 200);
    expect(await show(runId)).toMatchObject({ state: "paused", calls: 20, wave: { number: 1, state: "checking" } });
    await ask(`/runs/${runId}/resume`);
    expect(await rests(runId)).toMatchObject({ state: "completed", counts: { done: 40 } });
  });

  test("a cancel ends the run without a check", async () => {
    const before = calls["getSim"];
    const { runId } = await start(take(40), good, { waves: "20,100%" });
    await soaks(runId);
    await ask(`/runs/${runId}/cancel`);
    expect(await show(runId)).toMatchObject({ state: "cancelled", counts: { done: 20, cancelled: 20 } });
    await systemClock.sleep(1_500);
    expect(calls["getSim"]).toBe(before);
  });

  test("a freeze holds the next wave, but not the calls that read", async () => {
    const before = calls["getSim"] ?? 0;
    const { runId } = await start(take(40), good, { waves: "20,100%" });
    await soaks(runId);
    await harness.freezes.order({ by: "test", reason: "a test", untilMs: undefined });
    const held = await reaches(runId, ({ wave }) => wave?.number === 2);
    expect([held.calls, (calls["getSim"] ?? 0) - before]).toEqual([20, 20]);
    await harness.freezes.end("test");
    expect(await rests(runId)).toMatchObject({ state: "completed", counts: { done: 40 } });
  });

  test("a queue that is lost during the soak is built again", async () => {
    const { runId } = await start(take(40), good, { waves: "20,100%" });
    await soaks(runId);
    const jobs = await harness.redis().keys("*calls-default.Sim:*");
    await harness.redis().del(...jobs);
    expect(await rests(runId)).toMatchObject({ state: "completed", counts: { done: 40 } });
  });
});

describe("where waves begin", () => {
  test("the waves of a run that needs approval begin with the approval", async () => {
    const env = { SIMFLEET_CHANGES_APPROVAL_ABOVE: "5" };
    await using other = await ControlHarness.open({ works: true, sandbox: { sims: 40 }, env });
    const how = "skipUnchanged=false&waves=20,100%25&soak=1s";
    const answer = await other.upload(`/v1/runs?${how}`, other.csv(40));
    const { runId, state } = (await answer.json()) as RunReport;
    expect(state).toBe("awaiting-approval");
    expect(other.sandbox.state.totals.byOperation).not.toHaveProperty("updateSimSpeedClass");
    await other.ask(`/v1/runs/${runId}/approve`, { as: "admin", method: "POST" });
    await until("it soaks", async () => (await other.runs.show(runId)).wave?.state === "soaking", 30_000, 200);
    expect(await other.runs.show(runId)).toMatchObject({ counts: { done: 20 }, wave: { number: 1, of: 2 } });
    expect(await other.ended(runId)).toMatchObject({ state: "completed" });
  });

  test("without an operation that reads one SIM, a sync reads them again", async () => {
    const sandbox = { sims: 60, takesOffline: { updateSimSpeedClass: 0.3 } };
    await using other = await ControlHarness.open({ works: true, sandbox, env: { SIMFLEET_INVENTORY_FIELDS: fields } });
    other.sandbox.fleet.change({
      edit: Array.from({ length: 60 }, (_, i) => ({ id: other.simId(i), set: { sessionStatus: { online: true } } })),
    });
    await other.sync();
    const before = other.sandbox.state.totals.byOperation["listSims"] ?? 0;
    const how = new URLSearchParams({ skipUnchanged: "false", waves: "40,100%", soak: "1s", gate });
    const runId = await other.startRun(other.csv(60), `?${String(how)}`);
    await until("the gate has paused it", async () => (await other.runs.show(runId)).state === "paused");
    const reason = expect.stringContaining("of 40 SIMs meet it") as unknown;
    expect(await other.runs.show(runId)).toMatchObject({ calls: 40, reason });
    expect((other.sandbox.state.totals.byOperation["listSims"] ?? 0) - before).toBe(1);
  });

  test("schedules and automations have the options of waves by the same names", async () => {
    const keys =
      'waves: "20,5%,100%", soak: 10m, gate: "sessionStatus.online=true >= 95%", minSample: 20, onFailure: undo';
    const prepare = (): Promise<string> =>
      Promise.resolve(`schedules:
  up: { cron: "0 8 * * *", job: apply, where: "status=active", speedClass: s1.fast, ${keys} }
automations:
  slow: { on: sim.added, job: apply, speedClass: s1.slow, ${keys} }
`);
    await using other = await ControlHarness.open({ prepare });
    const ends = [{ rows: 20 }, { percent: 5 }, { percent: 100 }];
    const waves = { ends, soakMs: 600_000, gate, minSample: 20, sample: 200, onFailure: "undo" };
    const text = JSON.stringify(other.app.kernel.config.sections);
    expect(text.split(JSON.stringify(waves).slice(1, -1))).toHaveLength(3);
  });
});

describe("waves that cannot be run", () => {
  const taken = take(40);
  test.each([
    [{ waves: "20,5%" }, 'The waves \\"20,5%\\" do not end at 100%'],
    [{ waves: "20,10,100%" }, "are not each larger than the last"],
    [{ waves: "20%,20%,100%" }, "are not each larger than the last"],
    [{ waves: "a,100%" }, "cannot be read"],
    [{ waves: "20,5%,100%" }, "Of 40 SIMs, a wave that ends at 2 would follow one that ends at 20"],
    [{ waves: "20,100%", gate: "sessionStatus.online=true" }, "an example: sessionStatus.online=true >= 95%"],
    [{ waves: "20,100%", gate: "online is true >= 95%" }, "cannot be read"],
    [{ waves: "20,100%", gate: "colour=red >= 95%" }, "colour"],
    [{ waves: "20,100%", soak: "soon" }, "has to be a period such as 10m"],
    [{ waves: "20,100%", canary: "5" }, "A canary is a first wave"],
    [{ gate }, "need waves"],
  ])("%j is refused before the first call", async (more, why) => {
    await expect(start(taken, good, more)).rejects.toThrow(why);
  });

  test("an undo is refused for an operation without one", async () => {
    const more = { waves: "5,100%", onFailure: "undo" };
    await expect(start(take(10), "operation=terminate&confirm=10", more)).rejects.toThrow("terminate has no undo");
  });

  test("an irreversible operation needs its number, and goes in waves with it", async () => {
    const ids = take(10);
    await expect(start(ids, "operation=terminate", { waves: "5,100%" })).rejects.toThrow("--confirm 10");
    const stays = { waves: "5,100%", gate: "simId exists >= 100%" };
    const run = await rests((await start(ids, "operation=terminate&confirm=10", stays)).runId);
    expect(run).toMatchObject({ state: "completed", counts: { done: 10 } });
  });
});

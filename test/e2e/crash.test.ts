/**
 * What is left when a process dies without a word: every row still ends with exactly one outcome, the platform holds
 * what the file says, and no call is repeated that was not in flight.
 */
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { seededShare } from "#sandbox/seeded.ts";
import { seeds } from "../support/long.ts";
import { until } from "../support/until.ts";
import { counted, resultRows, runIdIn } from "./support/results.ts";
import { CliHarness } from "./support/cli-harness.ts";

vi.setConfig({ testTimeout: 600_000 });

const rows = 120;
const lanes = 8;
const io = { sims: rows, latencyMs: [10, 40], env: { SIMFLEET_CONNECTIONS: String(lanes) } } as const;

/** After how many changes the blow falls; the seed says so. */
function blow(round: number): number {
  return 1 + Math.floor(seededShare(2_026, round) * (rows - 20));
}

/** The SIMs whose rows are done, and how often the platform has changed each. */
async function changesOfDone(harness: CliHarness, runId: string): Promise<ReadonlyMap<string, number>> {
  const results = resultRows((await harness.run(["runs", "results", runId])).stdout);
  const done = results.filter(({ outcome }) => outcome === "done");
  return new Map(done.map(({ simId = "" }) => [simId, harness.sandbox.state.acceptedChanges(simId)]));
}

async function expectWhole(harness: CliHarness, runId: string, max: { repeated: number }): Promise<void> {
  const results = resultRows((await harness.run(["runs", "results", runId])).stdout);
  expect(counted(results.map(({ outcome = "" }) => outcome))).toEqual({ done: rows });
  for (const { simId = "", speedClass } of results) {
    expect(harness.sandbox.state.speedClassOf(simId)).toBe(speedClass);
    expect(harness.sandbox.state.acceptedChanges(simId)).toBeGreaterThan(0);
  }
  expect(harness.changes - rows).toBeLessThanOrEqual(max.repeated);
  expect(harness.sandbox.state.totals.throttled).toBe(0);
  const { counts } = (await harness.json(["runs", "show", runId])).document;
  expect(counts).toMatchObject({ total: rows, done: rows, pending: 0 });
}

async function killAndResume(round: number): Promise<void> {
  await using harness = await CliHarness.open({ ...io, rows });
  await harness.redis();
  const apply = harness.start(["apply", "fleet.csv", "--yes"]);
  await harness.untilChanges(blow(round));
  const { code, stderr } = await apply.end("SIGKILL");
  expect(code).toBe(137);
  const runId = runIdIn(stderr);
  const before = await changesOfDone(harness, runId);
  const resumed = await harness.json(["runs", "resume", runId]);
  expect(resumed).toMatchObject({ code: 0, document: { state: "completed" } });
  // Each of the four segments in progress may have had its lanes full.
  await expectWhole(harness, runId, { repeated: 4 * lanes });
  const after = [...before.keys()].map((simId) => [simId, harness.sandbox.state.acceptedChanges(simId)] as const);
  expect(new Map(after)).toEqual(before);
}

test.concurrent("a run whose process was killed at any moment is completed by resume", async () => {
  const rounds = await Promise.allSettled(Array.from({ length: seeds(1, 10) }, (_, round) => killAndResume(round)));
  const failed = rounds.flatMap((ended, round) =>
    ended.status === "rejected" ? [`round ${round}, after ${blow(round)} changes: ${String(ended.reason)}`] : [],
  );
  expect(failed).toEqual([]);
});

test.concurrent("the rows of a killed worker are completed by the other workers", async () => {
  await using harness = await CliHarness.open({ ...io, rows });
  await harness.redis();
  const workers = await Promise.all([harness.worker(), harness.worker(), harness.worker()]);
  const { document } = await harness.json(["apply", "fleet.csv", "--yes", "--detach"]);
  await harness.untilChanges(blow(20));
  workers[1]?.kill("SIGKILL");
  await harness.untilState(document.runId, "completed");
  await expectWhole(harness, document.runId, { repeated: 4 * lanes });
});

test.concurrent("a run continues by itself after its embedded Redis was killed", async () => {
  await using harness = await CliHarness.open({ ...io, rows });
  const apply = harness.start(["apply", "fleet.csv", "--yes", "--json"]);
  await harness.untilChanges(blow(21));
  const before = await harness.redisPid();
  process.kill(before, "SIGKILL");
  const ended = await apply.ended;
  expect(ended).toMatchObject({ code: 0 });
  const { runId, counts } = JSON.parse(ended.stdout) as { runId: string; counts: object };
  expect(counts).toMatchObject({ done: rows });
  await expectWhole(harness, runId, { repeated: 4 * lanes });
});

test.concurrent("a run is completed after apply, worker, Redis, and its supervisor were all killed at once", async () => {
  await using harness = await CliHarness.open({ ...io, rows });
  const worker = await harness.worker();
  const apply = harness.start(["apply", "fleet.csv", "--yes"]);
  await harness.untilChanges(blow(22));
  const redis = await harness.redisPid();
  for (const pid of [await parentOf(redis), redis, worker.pid, apply.pid]) process.kill(pid, "SIGKILL");
  const { stderr } = await apply.ended;
  await until("redis-server is gone", () => !isAlive(redis));
  const runId = runIdIn(stderr);
  const resumed = await harness.json(["runs", "resume", runId]);
  expect(resumed).toMatchObject({ code: 0, document: { state: "completed" } });
  await expectWhole(harness, runId, { repeated: 8 * lanes });
});

async function killWhileTheyOverlap(round: number): Promise<void> {
  await using harness = await CliHarness.open(io);
  await harness.redis();
  await harness.fleet("old.csv", rows, ["s1.slow"]);
  await harness.fleet("new.csv", rows, ["s1.fast"]);
  const older = harness.start(["apply", "old.csv", "--yes", "--rate", "60"]);
  await harness.untilChanges(2);
  const newer = harness.start(["apply", "new.csv", "--yes"]);
  const [, newId = ""] = await newer.said(/Run (r-\S+) started/);
  // From before the older run has noticed to when the newer one makes its calls.
  await sleep(seededShare(2_026, round) * 1_500);
  for (const process of [older, newer]) process.kill("SIGKILL");
  const { stderr } = await older.ended;
  const oldId = runIdIn(stderr);
  await newer.ended;
  // Refused for a run that has ended, by the work of the other command.
  for (const runId of [oldId, newId]) await harness.run(["runs", "resume", runId]);
  const { counts } = (await harness.json(["runs", "show", oldId])).document;
  expect(counts.done + counts.skipped).toBe(rows);
  expect(counts.skipped).toBeGreaterThan(0);
  expect((await harness.json(["runs", "show", newId])).document.counts.done).toBe(rows);
  const classes = Array.from({ length: rows }, (_, n) => harness.sandbox.state.sims.speedClassAt(n));
  expect(counted(classes)).toEqual({ "s1.fast": rows });
}

test.concurrent("two runs whose processes were killed as the newer one began leave its values", async () => {
  await Promise.all(Array.from({ length: seeds(1, 10) }, (_, round) => killWhileTheyOverlap(round)));
});

async function parentOf(pid: number): Promise<number> {
  return Number(/^PPid:\s+(\d+)$/m.exec(await readFile(`/proc/${pid}/status`, "utf8"))?.[1]);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

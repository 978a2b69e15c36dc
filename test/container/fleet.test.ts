/** The image, Redis and the simulator in containers: what a fleet's owner runs, through what happens to containers. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { isLong } from "../support/long.ts";
import { until } from "../support/until.ts";
import { Fleet, type RunDocument, withoutEngine } from "./support/fleet.ts";

const reason = isLong ? await withoutEngine() : "a long test";

interface Row {
  readonly input: { readonly simId: string };
  readonly outcome: string;
}

interface SandboxSim {
  readonly record: { readonly speedClass: string };
}

interface SandboxState {
  readonly windows: { readonly Sim: readonly { readonly throttled: number }[] };
}

/** A run of all SIMs, started by a command. */
async function begin(fleet: Fleet, speedClass: string): Promise<string> {
  await fleet.write("in.csv", `simId,speedClass\n${fleet.simIds.map((id) => `${id},${speedClass}\n`).join("")}`);
  return (await fleet.run("apply", "/fleet/in.csv", "--yes", "--detach")).trim();
}

const done = async (fleet: Fleet, runId: string): Promise<number> =>
  (await fleet.json("runs", "show", runId)).counts["done"] ?? 0;

/** Each row has one outcome, which the platform's journal agrees with, and no call was answered with 429. */
async function expectWhole(fleet: Fleet, runId: string): Promise<void> {
  let run!: RunDocument;
  await until("the run has ended", async () => {
    run = await fleet.json("runs", "show", runId);
    return run.state === "completed";
  });
  const total = fleet.simIds.length;
  expect([run.counts["done"], run.throttled]).toEqual([total, 0]);
  const rows = (await fleet.run("runs", "results", runId, "--format", "ndjson")).trim().split("\n");
  const outcomes = rows.map((line) => JSON.parse(line) as Row);
  expect(new Set(outcomes.map(({ input }) => input.simId)).size).toBe(total);
  expect(outcomes.filter(({ outcome }) => outcome !== "done")).toEqual([]);
  const sims = await fleet.ofSandbox<{ effects: Record<string, number> }>(...fleet.simIds.map((id) => `sims/${id}`));
  expect(sims.filter(({ effects }) => (effects["updateSimSpeedClass"] ?? 0) === 0)).toEqual([]);
  const [state] = await fleet.ofSandbox<SandboxState>("state");
  expect(state?.windows.Sim.filter(({ throttled }) => throttled > 0)).toEqual([]);
}

const settings = `schedules:
  sync: { cron: "*/5 * * * * *", job: sync }
  apply: { cron: "*/5 * * * * *", job: apply, file: /fleet/scheduled.csv }
dropFolder: { path: /fleet/in, settleSeconds: 1 }
authKeys: { default: { sinks: [{ file: /fleet/secrets/auth-key }], graceSeconds: 1 } }
seal: { keyFile: /fleet/secrets/seal-key }`;

async function areSchedulesDone(fleet: Fleet): Promise<boolean> {
  const { schedules } = await fleet.json<{ schedules: { last: { result: string } | null }[] }>("schedules", "list");
  return schedules.length === 2 && schedules.every(({ last }) => last?.result === "done");
}

function authKeyIdOf(fleet: Fleet): string {
  return (JSON.parse(readFileSync(join(fleet.folder, "secrets/auth-key"), "utf8")) as { authKeyId: string }).authKeyId;
}

/** Drops a file for one SIM, and waits for its results. */
async function drop(fleet: Fleet, name: string, simId: string): Promise<void> {
  await fleet.write(`in/${name}.csv`, `simId,speedClass\n${simId},s1.fast\n`);
  const isResults = (file: string): boolean => file.startsWith(`${name}.`) && file.includes("results");
  await until("the file has its results", () => readdirSync(join(fleet.folder, "in/done")).some(isResults));
}

/** Prints whether the worker is ready, in its container. */
const askReady = 'fetch("http://127.0.0.1:8080/readyz").then((answer) => console.log(answer.status))';

describe.skipIf(reason)(`containers${reason === undefined ? "" : ` (skipped: ${reason})`}`, () => {
  // Shows S14.
  test("a worker without capabilities on a read-only root works a run off, and stops in time with no row lost", async () => {
    await using fleet = await Fleet.open({ rows: 300, limit: 200 });
    const first = await fleet.worker();
    expect((await first.exec(["node", "-e", askReady])).stdout.trim()).toBe("200");
    expect((await first.exec(["id", "-u"])).stdout.trim()).not.toBe("0");
    expect((await first.exec(["touch", "/app/x"])).exitCode).not.toBe(0);
    const runId = await begin(fleet, "s1.fast");
    await until("rows are done", async () => (await done(fleet, runId)) > 20);
    const beganMs = performance.now();
    await first.stop({ remove: false, timeout: 60_000 });
    expect(performance.now() - beganMs).toBeLessThan(30_000);
    expect(await fleet.exitCode(first)).toBe(0);
    await fleet.worker();
    await expectWhole(fleet, runId);
  });

  test("a run of 2,000 rows outlives a killed worker, a restart of Redis, and a worker without a network", async () => {
    await using fleet = await Fleet.open({ rows: 2_000, limit: 300 });
    const [killed, cut] = await Promise.all([fleet.worker(), fleet.worker()]);
    const runId = await begin(fleet, "s1.fast");
    await until("rows are done", async () => (await done(fleet, runId)) > 100);
    await fleet.kill(killed);
    await fleet.worker();
    await until("more rows are done", async () => (await done(fleet, runId)) > 600);
    await fleet.redis.restart({ timeout: 10_000 });
    await until("more rows are done", async () => (await done(fleet, runId).catch(() => 0)) > 900);
    await fleet.cutOff(cut);
    await until("the other worker goes on", async () => (await done(fleet, runId)) > 1_400);
    await fleet.connect(cut);
    await expectWhole(fleet, runId);
  });

  test("workers are replaced one by one under a run", async () => {
    await using fleet = await Fleet.open({ rows: 1_000, limit: 300 });
    const workers = [await fleet.worker(), await fleet.worker()];
    const runId = await begin(fleet, "s1.fast");
    for (const [place, worker] of workers.entries()) {
      await until("rows are done", async () => (await done(fleet, runId)) > 200 * (place + 1));
      await fleet.worker();
      await worker.stop({ remove: false, timeout: 60_000 });
      expect(await fleet.exitCode(worker)).toBe(0);
    }
    await expectWhole(fleet, runId);
  });

  test("a schedule syncs and applies, a dropped file becomes a run, and a rotated AuthKey is used without a restart", async () => {
    await using fleet = await Fleet.open({ rows: 50, limit: 300, settings });
    const [first = "", second = "", third = ""] = fleet.simIds;
    await fleet.write("scheduled.csv", `simId,speedClass\n${first},s1.fast\n`);
    const worker = await fleet.worker();
    await until("the sync and the run of the schedule are done", () => areSchedulesDone(fleet));
    expect((await fleet.json<{ total: number }>("sims", "count")).total).toBe(50);
    await drop(fleet, "fleet", second);
    await fleet.run("authkeys", "rotate", "--yes", "--wait");
    expect(authKeyIdOf(fleet)).not.toBe("keyId-sandbox");
    await drop(fleet, "later", third);
    expect(await fleet.exitCode(worker)).toBe(null);
    const sims = await fleet.ofSandbox<SandboxSim>(`sims/${first}`, `sims/${second}`, `sims/${third}`);
    expect(sims.map(({ record }) => record.speedClass)).toEqual(["s1.fast", "s1.fast", "s1.fast"]);
  });
});

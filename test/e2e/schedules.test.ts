/** Schedules in a real worker: times, triggers, pauses, freezes, a killed worker; and what `check` and `list` show. */
import { writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import type { ScheduleReport } from "#jobs/schedules/contract.ts";
import { isLong } from "../support/long.ts";
import { until } from "../support/until.ts";
import { CliHarness } from "./support/cli-harness.ts";

async function schedulesOf(harness: CliHarness): Promise<Record<string, ScheduleReport>> {
  const { document } = await harness.json<{ schedules: ScheduleReport[] }>(["schedules", "list"]);
  return Object.fromEntries(document.schedules.map((one) => [one.name, one]));
}

async function untilLast(harness: CliHarness, name: string): Promise<NonNullable<ScheduleReport["last"]>> {
  let last: ScheduleReport["last"] = null;
  await until(
    `the schedule ${name} has done its task`,
    async () => {
      last = (await schedulesOf(harness))[name]?.last ?? null;
      return last !== null;
    },
    60_000,
  );
  return last as unknown as NonNullable<ScheduleReport["last"]>;
}

/** Triggers a schedule. @returns what became of its task */
async function trigger(harness: CliHarness, name: string): ReturnType<typeof untilLast> {
  await harness.run(["schedules", "trigger", name]);
  return untilLast(harness, name);
}

describe.concurrent("schedules", () => {
  test("check opens the file of each task, and says which ones cannot be read", async () => {
    const task = (file: string): string => `{ cron: "@yearly", job: apply, file: ${file} }`;
    const schedules = `a: ${task("fleet.csv")}, b: ${task("none.csv")}, c: ${task("folder.csv")}`;
    const automations = "d: { on: run.completed, job: report, file: none/report.json }";
    const config = `schedules: { ${schedules} }\nautomations: { ${automations} }\n`;
    await using harness = await CliHarness.open({ sims: 5, config, rows: 5 });
    await mkdir(harness.path("folder.csv"));
    const { code, stdout } = await harness.run(["check"]);
    expect(code).toBe(2);
    expect(stdout.split("\n").filter((line) => line.startsWith("FAIL"))).toEqual([
      expect.stringMatching(/^FAIL +schedule b +\/.*\/none\.csv cannot be used: ENOENT/),
      expect.stringMatching(/^FAIL +schedule c +\/.*\/folder\.csv cannot be used: .* is a folder, not a file/),
      expect.stringMatching(/^FAIL +automation d +\/.*\/none\/report\.json cannot be used: ENOENT/),
    ]);
  });

  /** The SIMs of the stadium example, of which those in the stadium are slow. */
  async function setupStadium() {
    const harness = await CliHarness.open({
      sims: 40,
      operations: "all",
      env: { SIMFLEET_BRAND: "Svc", SIMFLEET_COVERAGE: "g", SIMFLEET_CONFIG: "stadium.yaml" },
    });
    await harness.example("stadium.yaml");
    writeFileSync(harness.path("seal-key"), Buffer.alloc(32, 7), { mode: 0o600 });
    const { sims } = harness.sandbox.state;
    const places = Array.from({ length: sims.count }, (_, place) => place);
    const isInStadium = (place: number): boolean => (sims.recordAt(place).tags as { site?: string }).site === "stadium";
    const stadium = places.filter(isInStadium);
    const others = places.filter((place) => !isInStadium(place));
    for (const place of stadium) harness.sandbox.fleet.edit(harness.simId(place), { speedClass: "s1.slow" });
    const classesOf = (of: readonly number[]): string[] => of.map((place) => sims.speedClassAt(place));
    return Object.assign(harness, { stadium, others, classesOf });
  }

  test("check shows the next times of the schedules of the stadium example", async () => {
    await using harness = await setupStadium();
    const check = await harness.run(["check"]);
    expect(check.stdout).toMatch(
      /^ok +schedule stadium-up +next \d{4}-\d\d-\d\d 08:00:00 Asia\/Tokyo \(.*\), .*08:00:00.*, .*08:00:00/m,
    );
    expect(check.stdout).toMatch(/^ok +schedule monthly-key +next \d{4}-\d\d-01 04:00:00 Asia\/Tokyo/m);
  });

  test("the schedules of the stadium example change the speed of its SIMs alone, up and down", async () => {
    await using harness = await setupStadium();
    const { stadium, others, classesOf } = harness;
    const before = classesOf(others);
    await harness.worker();
    expect(await trigger(harness, "nightly-sync")).toMatchObject({ result: "done", reason: "40 SIMs listed" });
    const up = await trigger(harness, "stadium-up");
    expect(up).toMatchObject({ result: "done", reason: `${stadium.length} of ${stadium.length} rows done` });
    expect(classesOf(stadium)).toEqual(stadium.map(() => "s1.fast"));
    const { document: run } = await harness.json(["runs", "show", up.ref ?? ""]);
    expect(run).toMatchObject({ state: "completed", submittedBy: "schedule:stadium-up" });
    expect(await trigger(harness, "stadium-down")).toMatchObject({ result: "done" });
    expect(classesOf(stadium)).toEqual(stadium.map(() => "s1.slow"));
    expect(classesOf(others)).toEqual(before);
  });

  test("the schedules of the stadium example rotate its key, and make no run where nothing is left to change", async () => {
    await using harness = await setupStadium();
    await harness.worker();
    expect(await trigger(harness, "monthly-key")).toMatchObject({ result: "done" });
    expect(await harness.read("mqtt-psk")).toMatch(/^[\w-]{43}$/);
    await trigger(harness, "nightly-sync");
    const reason = "every SIM already has the requested values";
    expect(await trigger(harness, "stadium-down")).toMatchObject({ reason });
  });

  test("schedules are listed with their next time and what became of their last task", async () => {
    await using harness = await setupStadium();
    const worker = await harness.worker();
    for (const name of ["nightly-sync", "stadium-up"]) await trigger(harness, name);
    const listed = await harness.run(["schedules", "list"]);
    expect(listed.stdout).toMatch(/^stadium-up +apply +0 8 \* \* 1-5 +active .* 08:00:00 Asia\/Tokyo +- +done in /m);
    expect(await worker.end()).toMatchObject({ code: 0 });
  });

  /** A paused schedule that would change two SIMs each second, and a run whose calls a freeze has ended. */
  async function setupFrozen() {
    const often = `{ cron: "* * * * * *", job: apply, file: few.csv, frozen: skip, skipUnchanged: false }`;
    const config = `schedules: { often: ${often}, quiet: { cron: "0 4 1 1 *", job: sync } }\n`;
    const slow = { latencyMs: 150, env: { SIMFLEET_CONNECTIONS: "1" } };
    const harness = await CliHarness.open({ config, sims: 80, rows: 80, ...slow });
    await harness.fleet("few.csv", 2);
    const paused = await harness.json<ScheduleReport>(["schedules", "pause", "often"]);
    await harness.worker();
    const { document: run } = await harness.json(["apply", "fleet.csv", "--yes", "--detach"]);
    await harness.untilChanges(10);
    const frozen = await harness.run(["freeze", "on", "--yes", "--reason", "incident 12"]);
    // Within a second no call goes out anymore; those that were out have ended.
    let seen = -1;
    await until("nothing changes any more", async () => {
      const isStill = harness.changes === seen;
      seen = harness.changes;
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      return isStill;
    });
    return Object.assign(harness, { paused, frozen, runId: run.runId, seen });
  }

  const reason = expect.stringContaining("incident 12") as string;

  // Shows S18.
  test.runIf(isLong)("a run makes no call while a freeze is in effect, and all of them after it", async () => {
    await using harness = await setupFrozen();
    const { frozen, runId, seen } = harness;
    expect(frozen.stdout).toMatch(/default: frozen: cli:\S+ has frozen all changes: incident 12/);
    expect(seen).toBeLessThan(80);
    const { document: held } = await harness.json(["runs", "show", runId]);
    expect(held).toMatchObject({ state: "running", etaSeconds: null, problem: { message: reason } });
    expect(harness.changes).toBe(seen);
    await harness.run(["freeze", "off"]);
    await harness.untilState(runId, "completed");
    expect((await harness.json(["runs", "show", runId])).document.counts.done).toBe(80);
  });

  // Shows S18.
  test.runIf(isLong)("a schedule changes nothing while it is paused or a freeze is in effect", async () => {
    await using harness = await setupFrozen();
    const { paused, seen } = harness;
    expect(paused.document).toMatchObject({ state: "paused", next: [] });
    expect(paused.stderr).toContain("No worker is running");
    expect((await schedulesOf(harness)).often?.last).toBeNull();
    await harness.run(["schedules", "resume", "often"]);
    expect(await untilLast(harness, "often")).toMatchObject({ result: "skipped", reason });
    expect(harness.changes).toBe(seen);
    // A sync changes nothing and continues.
    expect(await trigger(harness, "quiet")).toMatchObject({ result: "done" });
  });

  test("schedules can write a report of the fleet", async () => {
    const config = `schedules: { weekly: { cron: "@weekly", job: report, file: fleet.json } }\n`;
    await using harness = await CliHarness.open({ sims: 30, config });
    await harness.run(["sims", "sync"]);
    await harness.worker();
    expect(await trigger(harness, "weekly")).toMatchObject({ result: "done", ref: harness.path("fleet.json") });
    const report = JSON.parse(await harness.read("fleet.json")) as Record<string, unknown>;
    expect(report).toMatchObject({ total: 30, gone: 0, isComplete: true, runs: [], lastSync: { sims: 30 } });
    const sum = Object.values(report.bySpeedClass as Record<string, number>).reduce((a, b) => a + b, 0);
    expect(sum).toBe(30);
  });
});

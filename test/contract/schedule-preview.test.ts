/** What a schedule would do, and when, locally and through a worker. */
import { beforeAll, describe, expect, test } from "vitest";
import { inventory } from "#jobs/inventory/feature.ts";
import { until } from "../support/until.ts";
import { ControlHarness } from "./support/control-harness.ts";
import { runCommand } from "./support/run-command.ts";

const harness = await ControlHarness.ofFile({
  prepare: () =>
    Promise.resolve(`schedules:
  stadium-up: { job: apply, cron: "0 3 * * *", timezone: Asia/Tokyo, where: "status exists", speedClass: s1.fast }
  nobody: { job: apply, cron: "0 3 * * *", where: "status=lost", speedClass: s1.fast }
  no-file: { job: apply, cron: "0 3 * * *", file: /none/fleet.csv }
  nightly: { job: sync, cron: "0 3 * * *", missed: { within: 15m }, pauseAfterFailures: 3 }
`),
});

beforeAll(async () => {
  await harness.app.work(["default"], [inventory]);
  await harness.sync();
});

describe.each(["local", "remote"] as const)("schedules, %s", (where) => {
  const give = (line: string) => runCommand(harness, line.split(" "), where);

  test("a dry run of a schedule prints its plan, and starts and keeps nothing", async () => {
    const { code, stdout } = await give("schedules run stadium-up --dry-run");
    const plan = await runCommand(harness, ["plan", "--where", "status exists", "--speed-class", "s1.fast"], "local");
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^stadium-up would start this run\nstatus exists: /)]);
    expect(stdout.split("\n").slice(1, 4)).toEqual(plan.stdout.split("\n").slice(0, 3));
    expect((await harness.runs.list({ limit: 1 })).runs).toEqual([]);
    const redis = harness.redis();
    await until("no draft is left", async () => (await redis.keys("*draft*")).length === 0);
    expect(JSON.parse((await give("schedules show stadium-up --json")).stdout)).toMatchObject({ running: null });
  });

  test.each([
    ["nobody", 0, "nobody would do nothing: no SIM matches the filter\n", ""],
    ["nightly", 0, "nightly would sync the inventory\n", ""],
    ["no-file", 2, "", "/none/fleet.csv"],
    ["none", 2, "", "There is no schedule none"],
  ])("a dry run of the schedule %s ends with %i", async (name, exitCode, said, problem) => {
    const { code, stdout, stderr } = await give(`schedules run ${name} --dry-run`);
    expect([code, stdout, stderr]).toEqual([exitCode, said, expect.stringContaining(problem)]);
  });

  test("a schedule is shown with its next five times and its rules for failures", async () => {
    const { stdout } = await give("schedules show stadium-up");
    const [, times = ""] = stdout.split("next times:\n");
    expect(times.trimEnd().split("\n")).toEqual(
      Array.from({ length: 5 }, () => expect.stringMatching(/^ {2}\S+ 03:00:00 Asia.Tokyo \(\S+ 18:00:00\S+\)$/)),
    );
    expect(JSON.parse((await give("schedules show nightly --json")).stdout)).toMatchObject({
      missed: "within 15m",
      pauseAfterFailures: 3,
      failingSince: null,
      reason: null,
    });
  });
});

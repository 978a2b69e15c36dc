/** One filter language, wherever a filter is given. */
import { beforeAll, describe, expect, test } from "vitest";
import type { PlanReport } from "#jobs/runs/contract.ts";
import { runCommand } from "./support/run-command.ts";
import { json, tagOperation, workerOfFile } from "./support/run-requests.ts";

const filter =
  "(status=active or status=standby) and not (tags.name^=sim-1) and createdTime<2026-07-01 and createdTime>9999w ago";
const { harness, requests } = await workerOfFile({
  operations: { greet: tagOperation("word", { requires: "status=active or not (tags.name exists)" }) },
  lines: `inventory: { fields: [status, tags, createdTime] }
schedules:
  nightly: { job: apply, cron: "0 3 * * *", where: "${filter}", speedClass: s1.fast }
automations:
  greet: { on: sim.changed, where: "event.field=status and (${filter})", job: apply, operation: greet, set: { word: hi } }
`,
});

type Sims = readonly { simId: string; status: string; tags?: { name?: string }; createdTime: number }[];
let meant: string[];

beforeAll(async () => {
  await requests.become({ status: "active" }, [0, 1, 2, 10]);
  await requests.become({ status: "standby" }, [20, 21]);
  await requests.become({ status: "ready" }, [5]);
  const { sims } = await requests.ask<{ sims: Sims }>("/v1/sims?limit=100");
  const selected = sims.filter(
    ({ status, tags, createdTime }) =>
      ["active", "standby"].includes(status) &&
      tags?.name?.startsWith("sim-1") !== true &&
      createdTime < Date.UTC(2026, 6, 1),
  );
  meant = selected.map(({ simId }) => simId);
  expect(meant.length).toBeGreaterThan(3);
  expect(meant.length).toBeLessThan(sims.length - 3);
});

describe("a filter with or, not, ranges, ages and prefixes", () => {
  test.each(["local", "remote"] as const)("selects the same SIMs in every command, %s", async (where) => {
    const give = async (line: string) =>
      (await runCommand(harness, [...line.split(" "), "--where", filter], where)).stdout;
    const listed = JSON.parse(await give("sims list --limit 100 --json")) as { sims: Sims };
    expect(listed.sims.map(({ simId }) => simId)).toEqual(meant);
    expect(JSON.parse(await give("sims count --json"))).toMatchObject({ total: meant.length });
    expect((await give("sims export --columns simId")).trim().split("\n").slice(1).toSorted()).toEqual(
      meant.toSorted(),
    );
    expect(JSON.parse(await give("plan --speed-class s1.fast --json"))).toMatchObject({ rows: meant.length });
    const { stdout } = await runCommand(harness, ["schedules", "run", "nightly", "--dry-run"], where);
    // The age is kept as it is written.
    expect(stdout).toContain(`\n${filter}: ${meant.length} SIMs\n`);
  });

  test("selects the same SIMs in requests", async () => {
    const where = encodeURIComponent(filter);
    const { count } = await requests.ask<{ count: number }>(`/v1/sims/count?where=${where}`);
    const plan = await requests.ask<PlanReport>("/v1/plans", {
      method: "POST",
      body: JSON.stringify({ where: filter, speedClass: "s1.fast" }),
      headers: json,
    });
    expect([count, plan.rows]).toEqual([meant.length, meant.length]);
  });

  test("is kept by an automation as it is written, ages included", async () => {
    const automations = await requests.ask<unknown>("/v1/automations");
    expect(JSON.stringify(automations)).toContain(`event.field=status and (${filter})`);
  });

  test("is required by an operation, whose rejection names what the SIM has instead", async () => {
    const body = `simId\n${harness.simId(0)}\n${harness.simId(5)}\n`;
    const plan = await requests.plan("operation=greet&set.word=hi", body);
    expect(plan.problems).toEqual([
      expect.objectContaining({
        line: 3,
        column: "status",
        message: expect.stringMatching(
          /^The SIM has status=ready and tags.name=.*; the operation requires status=active or not \(tags.name exists\)\. Do activate first\.$/,
        ) as string,
      }),
    ]);
  });

  test("is refused everywhere with the character and what was expected there", async () => {
    const said = 'expected a unit of a size (B, KB, MB, GB, TB) at "XB" (character 22)';
    const broken = "status=a or usage>500XB";
    const answer = await requests.send(`/v1/sims?where=${encodeURIComponent(broken)}`);
    const body = { code: "USAGE", detail: expect.stringContaining(said) as string };
    expect(answer).toMatchObject({ status: 400, body });
    const { code, stderr } = await runCommand(harness, ["sims", "list", "--where", broken], "remote");
    expect([code, stderr]).toEqual([2, expect.stringContaining(said)]);
    const unknown = await requests.send(`/v1/sims?where=${encodeURIComponent("status=a or not (statsu=b)")}`);
    const detail = expect.stringContaining("has the field statsu. Did you mean status?") as string;
    expect(unknown).toMatchObject({ status: 400, body: { detail } });
  });
});

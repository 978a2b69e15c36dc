/** What the plans of one caller may take up, and that they go when their time is over. */
import { describe, expect, onTestFinished, test } from "vitest";
import { answerOf, ControlHarness } from "./support/control-harness.ts";

function plan(harness: ControlHarness, as = "operator", body = harness.csv(2)): Promise<Response> {
  return harness.upload("/v1/plans", body, { as });
}

async function planId(answer: Response): Promise<string> {
  expect(answer.status).toBe(201);
  return ((await answer.json()) as { planId: string }).planId;
}

/** A worker with a plan. */
async function setup(http?: string) {
  const harness = await ControlHarness.open(http === undefined ? {} : { http });
  onTestFinished(() => harness[Symbol.asyncDispose]());
  return { harness, id: await planId(await plan(harness)) };
}

/** Ids of the runs that `GET /v1/runs` lists. */
async function listed(harness: ControlHarness, query = ""): Promise<string[]> {
  const answer = await harness.ask(`/v1/runs${query}`, { as: "viewer" });
  return ((await answer.json()) as { runs: { runId: string }[] }).runs.map(({ runId }) => runId);
}

describe("a plan that is not started", () => {
  test("its keys expire within an hour, and none of them once it is started", async () => {
    const { harness, id } = await setup();
    const redis = harness.redis();
    const keys = (await redis.keys(`*${id}*`)).toSorted();
    expect(keys.map((key) => key.slice(key.indexOf(id)))).toEqual([id, `${id}:input`]);
    for (const key of [...keys, "{simfleet}:plans"]) {
      const ttl = await redis.ttl(key);
      expect([key, ttl > 3_500 && ttl <= 3_600]).toEqual([key, true]);
    }
    expect((await harness.ask(`/v1/runs?planId=${id}`, { as: "operator", method: "POST" })).status).toBe(202);
    for (const key of keys) expect([key, await redis.ttl(key)]).toEqual([key, -1]);
    expect(await redis.exists("{simfleet}:plans")).toBe(0);
  });

  test("an expired plan is not found, and cannot be started or deleted", async () => {
    const { harness, id } = await setup();
    for (const key of await harness.redis().keys(`*${id}*`)) await harness.redis().pexpire(key, 1);
    await new Promise((resolve) => setTimeout(resolve, 5));
    for (const [method, path] of [
      ["GET", `/v1/plans/${id}`],
      ["GET", `/v1/plans/${id}/rows`],
      ["GET", `/v1/plans/${id}/verdicts`],
      ["DELETE", `/v1/plans/${id}`],
      ["POST", `/v1/runs?planId=${id}`],
    ] as const) {
      const answer = await answerOf(harness.ask(path, { as: "operator", method }));
      expect([path, ...answer]).toMatchObject([path, 404, { code: "NOT_FOUND" }]);
    }
  });

  test("it is listed as a run only if its state is asked for, with its rows", async () => {
    const { harness, id } = await setup();
    expect(await listed(harness)).toEqual([]);
    expect(await listed(harness, "?state=planned")).toEqual([id]);
    expect(await listed(harness, "?state=running")).toEqual([]);
    const rows = await harness.ask(`/v1/runs/${id}/rows`, { as: "viewer" });
    expect(await rows.json()).toMatchObject({ rows: [{ line: 2, outcome: "pending" }, { line: 3 }] });
    const ofSim = await harness.ask(`/v1/sims/${harness.simId(0)}/runs`, { as: "viewer" });
    expect(await ofSim.json()).toMatchObject({ runs: [] });
  });

  test("it emits no event before it is started, and is a run from then on", async () => {
    const { harness, id } = await setup();
    const kinds = async (): Promise<string[]> => {
      const answer = await harness.ask("/v1/events?type=run.*", { as: "viewer" });
      return ((await answer.json()) as { events: { type: string }[] }).events.map(({ type }) => type);
    };
    expect(await kinds()).toEqual([]);
    await harness.ask(`/v1/runs?planId=${id}`, { as: "operator", method: "POST" });
    expect(await kinds()).toEqual(["run.submitted"]);
    expect([await listed(harness), await listed(harness, "?state=planned")]).toEqual([[id], []]);
  });

  test("it can be made of SIMs, and takes limits and a canary when it is started", async () => {
    await using harness = await ControlHarness.open();
    const body = JSON.stringify({ sims: [harness.simId(0), harness.simId(1)], speedClass: "s1.fast" });
    const headers = { "content-type": "application/json" };
    const id = await planId(await harness.ask("/v1/plans", { as: "operator", method: "POST", body, headers }));
    const limits = `/v1/runs?planId=${id}&rate=5&maxFailures=1&canary=1`;
    const run = await answerOf(harness.ask(limits, { as: "operator", method: "POST" }));
    expect(run).toMatchObject([202, { runId: id, counts: { total: 2 } }]);
    const waves = [
      { end: 1, calls: 1 },
      { end: 2, calls: 1 },
    ];
    expect(await harness.runs.record(id)).toMatchObject({ options: { callsPerMinute: 5 }, maxFailures: 1, waves });
  });

  test("of simultaneous starts one starts it, with other waves than it was planned with", async () => {
    const { harness } = await setup();
    const id = await planId(await harness.upload("/v1/plans?waves=1,2,3,4,5,100%25", harness.csv(40)));
    const start = (waves: string): Promise<Response> =>
      harness.ask(`/v1/runs?planId=${id}${waves}`, { as: "operator", method: "POST" });
    const canaries = ["", "&canary=1", "&canary=2", "", "&canary=3", "", "", "&canary=1"];
    const statuses = (await Promise.all(canaries.map(start))).map(({ status }) => status);
    expect(statuses.toSorted((a, b) => a - b)).toEqual([202, ...Array.from({ length: 7 }, () => 409)]);
  });
});

describe("plan limits per caller", () => {
  test("a caller has a limited number of plans, even for concurrent requests, independent of other callers", async () => {
    await using harness = await ControlHarness.open({ http: "  plansPerCaller: 5\n" });
    const answers = await Promise.all(Array.from({ length: 20 }, () => plan(harness)));
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 201).length).toBeLessThanOrEqual(5);
    expect(new Set(statuses)).toEqual(new Set([201, 429]));
    const refusals = answers.filter(({ status }) => status === 429);
    const detail = expect.stringMatching(/plansPerCaller.*DELETE/) as unknown;
    expect(await refusals[0]?.json()).toMatchObject({ code: "PLAN_LIMIT", detail });
    expect(Number(refusals[0]?.headers.get("retry-after"))).toBeGreaterThan(0);
    const kept = await listed(harness, "?state=planned");
    expect(kept.length).toBe(statuses.filter((status) => status === 201).length);
    expect((await plan(harness, "admin")).status).toBe(201);
  });

  test("a caller at the plan limit can delete a plan that the refusal names", async () => {
    const { harness, id: first } = await setup("  plansPerCaller: 2\n");
    await plan(harness);
    expect(await answerOf(plan(harness))).toMatchObject([429, { detail: expect.stringContaining(first) }]);
    await harness.ask(`/v1/plans/${first}`, { as: "operator", method: "DELETE" });
    expect((await plan(harness)).status).toBe(201);
  });

  test("a caller has a size limit for all its plans, enforced during the upload, and refused uploads leave nothing", async () => {
    await using harness = await ControlHarness.open({ http: "  planBytesPerCaller: 20000\n" });
    const large = harness.csv(50).padEnd(9_000, "\n");
    const answers = await Promise.all(Array.from({ length: 6 }, () => plan(harness, "operator", large)));
    const made = answers.filter(({ status }) => status === 201);
    expect(made.length).toBeLessThanOrEqual(2);
    const refusal = { code: "PLAN_LIMIT", detail: expect.stringMatching(/planBytes/) as unknown };
    for (const refused of answers.filter(({ status }) => status !== 201))
      expect(await answerOf(refused)).toMatchObject([429, refusal]);
    const body = harness.csv(50).padEnd(30_000, "\n");
    expect(await answerOf(harness.upload("/v1/runs", body))).toMatchObject([429, { code: "PLAN_LIMIT" }]);
    expect((await harness.redis().hkeys("{simfleet}:plans")).length).toBe(made.length);
  });
});

/** What plans may take up at a worker, and that they go when their time is over. */
import { readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { until } from "../support/until.ts";
import { ControlHarness } from "./support/control-harness.ts";

const csv = { "content-type": "text/csv" };

function plan(harness: ControlHarness, as = "operator", body = harness.csv(2)): Promise<Response> {
  return harness.ask("/v1/plans", { as, method: "POST", body, headers: csv });
}

async function planId(answer: Response): Promise<string> {
  expect(answer.status).toBe(201);
  return ((await answer.json()) as { planId: string }).planId;
}

const spoolOf = (harness: ControlHarness): string => join(harness.folder, "data", "spool");

/** Lets the time of a plan be over since so many minutes. */
async function expire(harness: ControlHarness, id: string, minutes: number): Promise<void> {
  const path = join(spoolOf(harness), `${id}.json`);
  const written = JSON.parse(await readFile(path, "utf8")) as object;
  await writeFile(path, JSON.stringify({ ...written, expiresAtMs: Date.now() - minutes * 60_000 }));
}

afterEach(() => vi.useRealTimers());

describe("expired plans", () => {
  test("an expired plan is removed by the worker without a request", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    await using harness = await ControlHarness.open();
    const [old, young] = [await planId(await plan(harness)), await planId(await plan(harness))];
    await expire(harness, old, 5);
    vi.advanceTimersByTime(60_000);
    vi.useRealTimers();
    await until("its files are gone", async () =>
      (await readdir(spoolOf(harness))).every((name) => !name.startsWith(old)),
    );
    expect((await harness.ask(`/v1/plans/${young}`, { as: "viewer" })).status).toBe(200);
  });

  test("an expired plan can be deleted but is otherwise not found", async () => {
    await using harness = await ControlHarness.open();
    const id = await planId(await plan(harness));
    await expire(harness, id, 0);
    expect((await harness.ask(`/v1/plans/${id}`, { as: "viewer" })).status).toBe(404);
    expect((await harness.ask(`/v1/plans/${id}`, { as: "operator", method: "DELETE" })).status).toBe(204);
    expect(await readdir(spoolOf(harness))).toEqual([]);
    expect((await harness.ask(`/v1/plans/${id}`, { as: "operator", method: "DELETE" })).status).toBe(404);
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
    expect(await refusals[0]?.json()).toMatchObject({ code: "PLAN_LIMIT", detail: /plansPerCaller.*DELETE/ });
    expect(Number(refusals[0]?.headers.get("retry-after"))).toBeGreaterThan(0);
    const left = async (): Promise<string[]> =>
      (await readdir(spoolOf(harness))).filter((name) => name.endsWith(".csv"));
    expect((await left()).length).toBe(statuses.filter((status) => status === 201).length);
    expect((await plan(harness, "admin")).status).toBe(201);
  });

  test("a caller at the plan limit can delete a plan that the refusal names", async () => {
    await using harness = await ControlHarness.open({ http: "  plansPerCaller: 2\n" });
    const first = await planId(await plan(harness));
    await plan(harness);
    const refused = await plan(harness);
    expect([refused.status, await refused.json()]).toMatchObject([429, { detail: expect.stringContaining(first) }]);
    await harness.ask(`/v1/plans/${first}`, { as: "operator", method: "DELETE" });
    expect((await plan(harness)).status).toBe(201);
  });

  test("a caller has a size limit for all its plans, enforced during the upload, and refused uploads leave nothing", async () => {
    await using harness = await ControlHarness.open({ http: "  planBytesPerCaller: 20000\n" });
    const large = harness.csv(50).padEnd(9_000, "\n");
    const answers = await Promise.all(Array.from({ length: 6 }, () => plan(harness, "operator", large)));
    const made = answers.filter(({ status }) => status === 201);
    expect(made.length).toBeLessThanOrEqual(2);
    for (const refused of answers.filter(({ status }) => status !== 201)) {
      expect([refused.status, await refused.json()]).toMatchObject([429, { code: "PLAN_LIMIT", detail: /planBytes/ }]);
    }
    const run = await harness.ask("/v1/runs", {
      as: "operator",
      method: "POST",
      body: "x".repeat(30_000),
      headers: csv,
    });
    expect([run.status, await run.json()]).toMatchObject([429, { code: "PLAN_LIMIT" }]);
    const files = (await readdir(spoolOf(harness))).filter((name) => name.endsWith(".csv"));
    expect(files.length).toBe(made.length);
  });
});

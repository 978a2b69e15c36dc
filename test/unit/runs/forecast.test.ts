/** When runs that share a quota make their calls. */
import { expect, test } from "vitest";
import { systemClock } from "#core/time.ts";
import type { RunRecord } from "#jobs/runs/ledger/run-record.ts";
import {
  type Demand,
  type Forecast,
  type ForecastDeps,
  forecast,
  forecaster,
  workByQuota,
} from "#jobs/runs/plan/forecast.ts";

const quota = { limit: 60, left: 60, reserved: 0, untilRefreshMs: 60_000, periodMs: 60_000 };
const how = { slots: 4, of: () => true };

function demand(runId: string, calls: number, more: Partial<Demand> = {}): Demand {
  const segments = Array.from({ length: Math.ceil(calls / 20) }, (_, n) => Math.min(20, calls - n * 20));
  return { runId, queue: "default.Sim", callsPerMinute: undefined, segments, left: calls, soaksMs: 0, ...more };
}

function minutes(found: Forecast | undefined): [number, number] {
  return [found?.startMs ?? -1, found?.endMs ?? -1].map((ms) => Math.round(ms / 6_000) / 10) as [number, number];
}

test("runs of 190 and 210 SIMs at 60 a minute that start together need six resets together", () => {
  const found = forecast([demand("a", 190), demand("b", 210)], quota, how);
  expect(minutes(found.get("b"))[1]).toBe(6);
  expect(found.get("b")?.ahead).toEqual({ runs: ["a"], calls: 190 });
  expect(found.get("b")?.startMs).toBeGreaterThan(2 * 60_000);
  expect(found.get("a")?.endMs).toBeLessThan(3.5 * 60_000);
});

test("a run that is alone ends with its last window, which it may use at once", () => {
  expect(minutes(forecast([demand("a", 60)], quota, how).get("a"))).toEqual([0, 0]);
  expect(minutes(forecast([demand("a", 125)], quota, how).get("a"))).toEqual([0, 2]);
  const spent = { ...quota, left: 0, untilRefreshMs: 30_000 };
  expect(minutes(forecast([demand("a", 125)], spent, how).get("a"))).toEqual([0.5, 2.5]);
});

test("calls that are left to others and those that were made count", () => {
  expect(minutes(forecast([demand("a", 120)], { ...quota, reserved: 30 }, how).get("a"))[1]).toBe(3);
  expect(minutes(forecast([demand("a", 190, { left: 60 })], quota, how).get("a"))[1]).toBe(0);
});

test("a plan without calls waits for none", () => {
  const found = forecast([demand("a", 190), demand("plan", 0)], quota, how).get("plan");
  expect(found).toEqual({ startMs: 0, endMs: 0, ahead: { runs: [], calls: 0 } });
});

test("queues that share a quota take turns", () => {
  const found = forecast([demand("a", 240), demand("b", 240, { queue: "user.Sim" })], quota, how);
  const [a, b] = [minutes(found.get("a"))[1], minutes(found.get("b"))[1]];
  expect(Math.min(a, b)).toBeGreaterThan(5.5);
  expect(Math.max(a, b)).toBe(7);
});

test("a run with a rate of its own leaves the rest of the quota to others, once it does not hold all places", () => {
  const wide = { ...quota, limit: 600, left: 600 };
  const few = forecast([demand("slow", 60, { callsPerMinute: 60 }), demand("b", 300)], wide, how);
  expect([minutes(few.get("slow"))[1], minutes(few.get("b"))[1]]).toEqual([1, 0]);
  const many = forecast([demand("slow", 100, { callsPerMinute: 60 }), demand("b", 300)], wide, how);
  expect(minutes(many.get("b"))[0]).toBeGreaterThan(1.1);
  const slow = [demand("c", 100, { callsPerMinute: 60 }), demand("d", 100, { callsPerMinute: 60 })];
  const chain = forecast([...slow, demand("b", 300)], wide, how);
  expect(minutes(chain.get("b"))[0]).toBeGreaterThan(2.2);
});

/** The forecaster of a quota of 60 calls that was idle for long, so that no window of it is known. */
function forecasterOf(running: readonly object[]) {
  return forecaster({
    ledger: { running: () => Promise.resolve(running) },
    limiter: { state: () => Promise.resolve({ bucket: "q", nowMs: 0, needed: 0, limit: 60 }) },
    workerRegistry: { workers: () => Promise.resolve([]) },
    clock: systemClock,
    config: { limits: { periodMs: 60_000, connections: 64 } },
  } as unknown as ForecastDeps);
}

const plan = { bucket: "default.Sim", options: {}, segments: [{ callable: 210 }], waves: [], runId: "plan" };

async function forecastPlan(more: object): Promise<[number, number]> {
  const forecastOf = forecasterOf([]);
  const planned = { ...plan, supersedes: [], ...more } as unknown as Parameters<typeof forecastOf>[1];
  return minutes((await forecastOf([], planned)).get("plan"));
}

test("the next call begins a window of a quota that was idle for long", async () => {
  expect(await forecastPlan({})).toEqual([0, 3]);
});

test("the soaks between waves and the calls that read SIMs again count", async () => {
  const waves = [
    { end: 1, calls: 60, met: 60, judged: 60 },
    { end: 2, calls: 60, met: 60, judged: 0 },
  ];
  const segments = [{ callable: 60 }, { callable: 60 }];
  expect(await forecastPlan({ options: { waves: { soakMs: 600_000 } }, segments, waves })).toEqual([0, 12]);
});

test("a run of a million calls is forecast within a tenth, in little time", () => {
  const segments = Array.from({ length: 2_000 }, () => 500);
  const found = forecast([demand("a", 1_000_000, { segments })], quota, how);
  expect(Math.abs((found.get("a")?.endMs ?? 0) / (1_000_000 * 1_000) - 1)).toBeLessThan(0.1);
});

test("runs that need more than the present window count as work of their quota, by when the last is done", () => {
  const tally = { pending: 90 } as RunRecord["tally"];
  const ends = { a: 200_000, b: 400_000, soon: 20_000 };
  const ofQuota = { startMs: 0, ahead: { runs: [], calls: 0 }, quota: "OP1.Sim", refreshMs: 60_000 };
  const forecasts = new Map(Object.entries(ends).map(([runId, endMs]) => [runId, { ...ofQuota, endMs }]));
  const found = workByQuota(
    Object.keys(ends).map((runId) => ({ runId, tally })),
    forecasts,
  );
  expect([...found]).toEqual([["OP1.Sim", { runs: 2, calls: 180, seconds: 400 }]]);
});

test("a plan does not wait for the calls that it takes from the runs that it supersedes", async () => {
  const run = { ...plan, segments: [{ callable: 190 }] } as unknown as RunRecord;
  const going = { total: 190, rejectedAtIntake: 0, skippedAtIntake: 0, tally: { pending: 190 }, state: "running" };
  const forecastOf = forecasterOf([{ ...run, ...going, runId: "older", startedAtMs: 1 }]);
  const ahead = async (sims: number): Promise<number | undefined> =>
    (await forecastOf([], { ...run, supersedes: [{ runId: "older", sims }] })).get("plan")?.ahead.calls;
  expect(await ahead(0)).toBe(190);
  expect(await ahead(150)).toBe(40);
  expect(await ahead(190)).toBe(0);
});

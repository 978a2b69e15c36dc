import { describe, expect, test } from "vitest";
import { openSandbox, quotaOf } from "./open-sandbox.ts";

describe("quotas", () => {
  test("every response of a group reports its limit, remaining calls, and seconds to refresh, even for errors", async () => {
    const { call, send, update, pair, clock } = await openSandbox({ limits: { Sim: 10 } });
    await pair();
    expect(quotaOf(await call("GET", "/v1/sims"))).toEqual([10, 9, 60]);
    clock.pass(1_500);
    expect(quotaOf(await update(0))).toEqual([10, 8, 59]);
    expect(quotaOf(await update(0, "s1.warp"))).toEqual([10, 7, 59]);
    expect(quotaOf(await send("GET", "/v1/sims"))).toEqual([10, 6, 59]);
    expect(quotaOf(await send("PUT", "/v1/sims"))).toEqual([10, 5, 59]);
    expect(quotaOf(await call("POST", "/v1/sims/none/update_speed_class", { body: {} }))).toEqual([10, 4, 59]);
  });

  test("each group has its own quota, and ungrouped paths have none", async () => {
    const { call, send } = await openSandbox();
    await call("GET", "/v1/sims");
    expect(quotaOf(await call("POST", "/v1/credentials/a", { body: {} }))).toEqual([60, 59, 60]);
    expect(quotaOf(await send("POST", "/v1/auth", { body: {} }))).toEqual([60, 58, 60]);
    expect(quotaOf(await send("GET", "/v1/nowhere"))).toEqual([null, null, null]);
    expect(quotaOf(await send("GET", "/.well-known/jwks.json"))).toEqual([null, null, null]);
  });

  /** A sandbox whose quota of two calls was spent, and the answers to three more shortly before its refresh. */
  async function setupSpent() {
    const opened = await openSandbox({ limits: { Sim: 2 } });
    const { call, update, pair, clock } = opened;
    await pair();
    await update(0);
    await update(0);
    clock.pass(59_900);
    const late = [await update(0), await call("GET", "/v1/subscribers"), await call("PUT", "/v1/sims")];
    return { ...opened, late };
  }

  test("a spent quota blocks the entire group until its refresh", async () => {
    const { call, update, clock, late } = await setupSpent();
    for (const answer of late) {
      expect(answer.status).toBe(429);
      expect(answer.json).toEqual({ code: "SBX0429", message: expect.stringContaining("Too many requests") });
      expect(quotaOf(answer)).toEqual([2, 0, 1]);
    }
    expect((await call("POST", "/v1/credentials/a", { body: {} })).status).toBe(400);
    clock.pass(100);
    expect(quotaOf(await update(0))).toEqual([2, 1, 60]);
  });

  test("a call beyond the quota costs nothing and is counted as throttled", async () => {
    const { update, sandbox, clock } = await setupSpent();
    clock.pass(100);
    await update(0);
    expect(sandbox.state.totals.throttled).toBe(3);
    expect(sandbox.state.acceptedChanges(sandbox.state.sims.simIdAt(0))).toBe(3);
    expect(sandbox.throttle.windows("Sim")).toEqual([
      { group: "Sim", startedAtMs: 0, limit: 2, accepted: 2, competitor: 0, throttled: 3 },
      { group: "Sim", startedAtMs: 60_000, limit: 2, accepted: 1, competitor: 0, throttled: 0 },
    ]);
  });

  test("authentication is limited per caller address", async () => {
    const { send, sandbox } = await openSandbox({ limits: { Auth: 1 } });
    await send("POST", "/v1/auth", { body: {} });
    expect((await send("POST", "/v1/auth", { body: {} })).status).toBe(429);
    expect(sandbox.throttle.isSpent("Auth", "127.0.0.1")).toBe(true);
    expect(sandbox.throttle.isSpent("Auth", "192.0.2.7")).toBe(false);
    expect(sandbox.throttle.windows("Auth")).toMatchObject([{ caller: "127.0.0.1", accepted: 1, throttled: 1 }]);
  });
});

describe("seconds before refresh", () => {
  test.each([
    ["up", [60, 60, 59, 1]],
    ["down", [60, 59, 58, 0]],
    ["nearest", [60, 60, 59, 0]],
  ] as const)("the seconds before refresh are rounded %s", async (rounding, expected) => {
    const { sandbox, clock } = await openSandbox({ rounding });
    const read: number[] = [];
    for (const ms of [0, 400, 1_000, 58_200]) {
      clock.pass(ms);
      read.push(sandbox.throttle.accept("Sim", "").secondsBeforeRefresh);
    }
    expect(read).toEqual(expected);
  });
});

describe("rate-limit windows", () => {
  test("a window can already be in progress at startup", async () => {
    const { sandbox, clock } = await openSandbox({ windowOffsetMs: 50_000 });
    expect(sandbox.throttle.accept("Sim", "").secondsBeforeRefresh).toBe(10);
    clock.pass(10_000);
    expect(sandbox.throttle.accept("Sim", "")).toMatchObject({ remaining: 599, secondsBeforeRefresh: 60 });
    clock.pass(185_000);
    expect(sandbox.throttle.accept("Sim", "").secondsBeforeRefresh).toBe(55);
  });

  test("a window can open at the first call after the previous one ended", async () => {
    const { sandbox, clock } = await openSandbox({ anchored: "first-call" });
    clock.pass(7_000);
    expect(sandbox.throttle.accept("Sim", "").secondsBeforeRefresh).toBe(60);
    clock.pass(83_000);
    expect(sandbox.throttle.accept("Sim", "")).toMatchObject({ remaining: 599, secondsBeforeRefresh: 60 });
    expect(sandbox.throttle.windows("Sim").map(({ startedAtMs }) => startedAtMs)).toEqual([7_000, 90_000]);
  });
});

describe("competitors", () => {
  test("a competitor spends quota at a steady rate in every window from the start", async () => {
    const { sandbox, clock } = await openSandbox({ limits: { Sim: 100 }, competitor: { Sim: 1 } });
    clock.pass(10_500);
    expect(sandbox.throttle.accept("Sim", "").remaining).toBe(89);
    clock.pass(60_000);
    expect(sandbox.throttle.accept("Sim", "").remaining).toBe(88);
    expect(sandbox.throttle.windows("Sim")).toMatchObject([
      { accepted: 1, competitor: 59 },
      { accepted: 1, competitor: 11 },
    ]);
  });

  test("a competitor can spend the remaining quota and can be stopped", async () => {
    const { sandbox, clock } = await openSandbox({ limits: { Sim: 5 } });
    sandbox.throttle.compete("Sim", 10);
    clock.pass(2_000);
    expect(sandbox.throttle.isSpent("Sim", "")).toBe(true);
    sandbox.throttle.compete("Sim", 0);
    clock.pass(60_000);
    expect(sandbox.throttle.accept("Sim", "").remaining).toBe(4);
  });
});

describe("limit changes", () => {
  test("an option can schedule a limit change, which a reset undoes", async () => {
    const limitChanges = [{ group: "Sim", limit: 3, afterMs: 1_000 } as const];
    const { sandbox, clock } = await openSandbox({ limits: { Sim: 5 }, limitChanges });
    expect(sandbox.throttle.accept("Sim", "").limit).toBe(5);
    clock.pass(1_000);
    expect(sandbox.throttle.accept("Sim", "").limit).toBe(3);
    sandbox.throttle.reset();
    expect(sandbox.throttle.accept("Sim", "")).toMatchObject({ limit: 5, remaining: 4 });
  });
});

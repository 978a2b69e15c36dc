import { describe, expect, test } from "vitest";
import { control } from "#sandbox/control.ts";
import { resolveOptions } from "#sandbox/options.ts";
import { problemsIn } from "../config/support.ts";
import { openSandbox } from "./open-sandbox.ts";

/** The state that is shown after one change was accepted and the next was throttled. */
async function stateAfterThrottling() {
  const { update, send } = await openSandbox({ limits: { Sim: 1 } });
  await update(0);
  await update(0);
  const { status, json } = await send("GET", "/_sandbox/state");
  expect(status).toBe(200);
  return json;
}

describe("the sandbox's control interface", () => {
  test("the control interface shows how many calls had which results", async () => {
    expect((await stateAfterThrottling()).totals).toMatchObject({
      calls: 3,
      throttled: 1,
      byOperation: { auth: 1, updateSimSpeedClass: 2 },
      byStatus: { 200: 2, 429: 1 },
    });
  });

  test("the control interface shows the fleet, its windows, and faults without spending quota", async () => {
    expect(await stateAfterThrottling()).toMatchObject({
      sims: 100,
      credentials: 0,
      livePairs: 1,
      windows: { Sim: [{ limit: 1, accepted: 1, throttled: 1 }], Credential: [] },
      faults: { rates: {}, ordered: 0, counts: {} },
    });
  });

  test("a fault of the sandbox itself ends one connection and not the process", async () => {
    const { sandbox, send } = await openSandbox();
    const { countCall } = sandbox.state;
    sandbox.state.countCall = () => {
      throw new Error("broken");
    };
    await expect(send("GET", "/v1/sims")).rejects.toThrow("fetch failed");
    sandbox.state.countCall = countCall;
    expect((await send("GET", "/v1/sims")).status).toBe(401);
  });

  test("the control interface sets faults", async () => {
    const { update, send, pair } = await openSandbox();
    await pair();
    const body = { rates: { "html-502": 1 }, next: { fault: "empty-500" } };
    expect((await send("POST", "/_sandbox/faults", { body })).json.faults.ordered).toBe(1);
    expect([(await update(0)).status, (await update(0)).status]).toEqual([500, 502]);
    await send("POST", "/_sandbox/faults", { body: { rates: {} } });
    expect((await update(0)).status).toBe(200);
  });

  test("the control interface resets the sandbox to its initial state", async () => {
    const { sandbox, update, call, send } = await openSandbox();
    const simId = sandbox.state.sims.simIdAt(0);
    const before = sandbox.state.recordOf(simId);
    sandbox.throttle.changeLimit({ group: "Sim", limit: 9, afterMs: 0 });
    await update(0, before?.speedClass === "s1.slow" ? "s1.fast" : "s1.slow");
    await call("POST", "/v1/credentials/a", { body: { type: "psk", credentials: { key: "k" } } });
    expect(sandbox.state.recordOf(simId)).not.toEqual(before);
    expect((await send("POST", "/_sandbox/reset")).json.totals.calls).toBe(0);
    expect(sandbox.state.recordOf(simId)).toEqual(before);
    expect(sandbox.state.credentials.count).toBe(0);
    expect(sandbox.throttle.accept("Sim", "")).toMatchObject({ limit: 600, remaining: 599 });
  });

  const refused: [what: string, body: unknown, why: string][] = [
    ["faults", {}, "rates"],
    ["faults", "{", "not JSON"],
    ["faults", { rates: { flood: 1 } }, "flood"],
    ["faults", { rates: { reset: 0.8, slow: 0.8 } }, "more than 1"],
    ["faults", { next: { fault: "reset", count: 0 } }, "count"],
    ["limits", { group: "Nope", limit: 1 }, "group"],
    ["limits", { group: "Sim", limit: 1.5 }, "limit"],
    ["competitor", { group: "Sim" }, "callsPerSecond"],
    ["credentials-used", { id: "a" }, "credentialsId"],
    ["reset", { hard: true }, "hard"],
    ["fleet", {}, "send `add`"],
    ["fleet", { addIds: [] }, "addIds"],
    ["fleet", { remove: ["nobody"] }, "there is no SIM nobody"],
    ["fleet", { edit: [{ id: "nobody", set: {} }] }, "at least one field"],
    ["fleet", { delete: ["nobody"] }, "delete"],
  ];

  test.each(refused)(
    "the control interface rejects a request to set %s with the body %j: %s",
    async (what, body, why) => {
      const { send } = await openSandbox();
      const { status, json } = await send("POST", `/_sandbox/${what}`, { body });
      expect(status).toBe(400);
      expect(json.message).toContain(why);
    },
  );

  test("the control interface refuses callers from other hosts", async () => {
    const { sandbox } = await openSandbox();
    const call = { method: "GET", path: "/_sandbox/state", bodyText: "", isTooLarge: false };
    expect(control(sandbox, { ...call, callerIp: "192.0.2.7" }).status).toBe(403);
    expect(control(sandbox, { ...call, callerIp: "::ffff:127.0.0.1" }).status).toBe(200);
  });

  test("an unknown control path returns 404 with a list of the available ones", async () => {
    const { send } = await openSandbox();
    for (const [method, path] of [
      ["GET", "/_sandbox/faults"],
      ["POST", "/_sandbox/state"],
      ["POST", "/_sandbox/nothing"],
      ["GET", "/_sandbox/state/more"],
    ] as const) {
      const { status, json } = await send(method, path);
      expect(status).toBe(404);
      expect(json.message).toContain("GET state");
    }
  });
});

describe("sandbox options", () => {
  const nonsense = {
    port: -1,
    brand: "X Y",
    simIds: ["a", "a"],
    groups: [{ groupId: "a/b" }],
    userAuthKey: "secret-robot",
    limits: { Nope: 1 } as object,
    periodSeconds: 0,
    faults: { reset: 2 },
    latencyMs: [5, 1] as const,
    mfaSecret: "018",
  };

  test("all invalid sandbox options are reported together", () => {
    const places = problemsIn(() => resolveOptions(nonsense)).map((problem) => /^\w+/.exec(problem)?.[0]);
    expect(new Set(places)).toEqual(new Set(Object.keys(nonsense)));
  });

  test("the sandbox reports a port that is already in use", async () => {
    const { sandbox } = await openSandbox();
    await expect(openSandbox({ port: sandbox.port })).rejects.toThrow(/cannot listen.*EADDRINUSE/);
  });
});

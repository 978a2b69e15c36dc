import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { describe, expect, test, vi } from "vitest";
import { type FaultKind, openFaults } from "#sandbox/faults.ts";
import { openSandbox, quotaOf } from "./open-sandbox.ts";

async function setup(kind: FaultKind, options: Parameters<typeof openSandbox>[0] = {}) {
  const opened = await openSandbox(options);
  await opened.pair();
  opened.sandbox.faults.next(kind);
  const simId = opened.sandbox.state.sims.simIdAt(0);
  return {
    ...opened,
    changes: () => opened.sandbox.state.acceptedChanges(simId),
    quotaLeft: async () => quotaOf(await opened.call("GET", "/v1/sims?limit=1"))[1],
  };
}

describe("faults", () => {
  test.each<[kind: FaultKind, error: object, changes: number, left: number]>([
    ["reset", { cause: { code: "ECONNRESET" } }, 0, 599],
    ["lost-answer", { message: "fetch failed" }, 1, 598],
  ])("the fault `%s` ends the connection, whether the call was executed or not", async (kind, error, count, left) => {
    const { update, changes, quotaLeft } = await setup(kind);
    await expect(update(0)).rejects.toMatchObject(error);
    expect([changes(), await quotaLeft()]).toEqual([count, left]);
  });

  const noQuota = [null, null, null];
  const nested = /^\{"httpStatus":500,"errorMessage":\{"code":"SBX0500","message":"[^"]+"\}\}$/;
  test.each<[kind: FaultKind, answer: string, body: RegExp, counts: unknown[]]>([
    ["html-502", "502 text/html", /<html>/, [noQuota, 0, 599]],
    ["empty-500", "500 null", /^$/, [noQuota, 0, 599]],
    ["nested-error", "500 application/json", nested, [[600, 599, 60], 0, 598]],
  ])("the fault `%s` answers %s without executing the call", async (kind, expected, body, counts) => {
    const { update, changes, quotaLeft } = await setup(kind);
    const answer = await update(0);
    expect(`${answer.status} ${answer.headers.get("content-type")}`).toBe(expected);
    expect(answer.text).toMatch(body);
    expect([quotaOf(answer), changes(), await quotaLeft()]).toEqual(counts);
  });

  test("the fault `hang` sends nothing until the client disconnects", async () => {
    const { sandbox, pair, changes, quotaLeft } = await setup("hang");
    const path = `/v1/sims/${sandbox.state.sims.simIdAt(0)}/update_speed_class`;
    const leaving = new AbortController();
    const headers = await pair();
    const hanging = fetch(sandbox.url + path, { method: "POST", headers, signal: leaving.signal, body: "{}" });
    await vi.waitFor(() => expect(sandbox.faults.counts.hang).toBe(1));
    leaving.abort();
    await expect(hanging).rejects.toThrow("aborted");
    expect(changes()).toBe(0);
    expect(await quotaLeft()).toBe(599);
  });

  test("the fault `slow` executes the call at once and delays its response", async () => {
    const { update, changes, clock } = await setup("slow", { slowMs: 3_000 });
    const answer = update(0);
    await vi.waitFor(() => expect(clock.sleepers).toBe(1));
    expect(changes()).toBe(1);
    clock.pass(3_000);
    expect((await answer).status).toBe(200);
  });

  test("the fault `truncated` ends the body before its declared length", async () => {
    const { sandbox, pair, changes } = await setup("truncated");
    const path = `/v1/sims/${sandbox.state.sims.simIdAt(0)}/update_speed_class`;
    const headers = { ...(await pair()), "content-type": "application/json" };
    // node:http is used, since fetch does not show how many bytes came
    const sent = request(sandbox.url + path, { method: "POST", headers }).end('{"speedClass":"s1.fast"}');
    const [response] = (await once(sent, "response")) as [IncomingMessage];
    let came = 0;
    response.on("data", (chunk: Buffer) => (came += chunk.length));
    const [error] = (await once(response, "error")) as [NodeJS.ErrnoException];
    expect(error.code).toBe("ECONNRESET");
    expect(came).toBeGreaterThan(0);
    expect(came).toBeLessThan(Number(response.headers["content-length"]));
    expect(changes()).toBe(1);
  });

  test("the fault `expire-pairs` makes the current call and all later ones need a new pair", async () => {
    const { update, send } = await setup("expire-pairs");
    expect((await update(0)).json.code).toBe("AUM0003");
    expect((await update(0)).json.code).toBe("AUM0003");
    expect((await send("POST", "/v1/auth", { body: {} })).status).toBe(400);
  });
});

describe("fault selection", () => {
  test("queued faults are used first, one per call, and counted", async () => {
    const { sandbox, update } = await openSandbox();
    sandbox.faults.next("html-502", 2);
    sandbox.faults.next("empty-500");
    expect([(await update(0)).status, (await update(0)).status]).toEqual([502, 502]);
    expect([(await update(0)).status, (await update(0)).status]).toEqual([500, 200]);
    expect(sandbox.faults.counts).toEqual({ "html-502": 2, "empty-500": 1 });
    expect(sandbox.faults.ordered).toEqual([]);
  });

  test("faults skip authentication unless configured to include it", async () => {
    const spared = await openSandbox({ faults: { "html-502": 1 } });
    const struck = await openSandbox({ faults: { "html-502": 1 }, faultsOnAuth: true });
    expect((await spared.send("POST", "/v1/auth", { body: {} })).status).toBe(400);
    expect((await struck.send("POST", "/v1/auth", { body: {} })).status).toBe(502);
  });

  test("faults follow the configured probabilities and depend only on the seed", () => {
    const rates = { reset: 0.1, slow: 0.3 };
    const drawn = (seed: number) => {
      const faults = openFaults({ seed, faults: rates, faultsOnAuth: false });
      return Array.from({ length: 5_000 }, () => faults.draw({ isAuth: false }));
    };
    const shareOf = (kind: FaultKind) => drawn(1).filter((fault) => fault === kind).length / 5_000;
    expect(shareOf("reset")).toBeCloseTo(0.1, 1);
    expect(shareOf("slow")).toBeCloseTo(0.3, 1);
    expect(drawn(1)).toEqual(drawn(1));
    expect(drawn(1)).not.toEqual(drawn(2));
  });
});

describe("latency", () => {
  test("latency can vary between two bounds", async () => {
    const { send, clock } = await openSandbox({ latencyMs: [100, 200] });
    const answer = send("GET", "/v1/nowhere");
    await vi.waitFor(() => expect(clock.sleepers).toBe(1));
    clock.pass(99);
    expect(clock.sleepers).toBe(1);
    clock.pass(101);
    expect((await answer).status).toBe(404);
  });
});

import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { Secret } from "#core/secrets/secret.ts";
import { systemClock } from "#core/time.ts";
import type { GatewayOptions } from "#gateway/gateway.ts";
import { until } from "../../support/until.ts";
import { answer, clientFor, type Handler, OpenPermits, quotaHeaders, startOpenPlatform } from "../api/support.ts";
import { type Answered, beginCall, call, type CallOptions, type GatewayChanges, gatewayTo } from "./support.ts";

const fine: Handler = (_request, response) => answer(response, 200, { ok: true }, quotaHeaders);
const token = "t".repeat(32);
const bearer = { authorization: `Bearer ${token}` };

/** A gateway to a platform that answers calls of a file with `handler`. */
async function setup(handler = fine, changes: GatewayChanges = {}) {
  const gateway = await gatewayTo(await startOpenPlatform(handler), changes);
  return {
    ...gateway,
    ask: (options?: CallOptions) => call(gateway.url, "/v1/files/1", options),
    /** The calls of the file that have reached the platform. */
    seen: () => gateway.platform.seen.filter(({ path }) => path === "/v1/files/1"),
    statusOf: async (path: string, headers?: CallOptions["headers"]) =>
      (await call(gateway.url, path, headers && { headers })).status,
  };
}

const readProblem = ({ status, text }: Answered): unknown => [status, JSON.parse(text)];

/** Permits of which all but the first few are waited for until their caller leaves. */
function permitsAfter(granted: number) {
  const permits = new OpenPermits();
  const acquire = permits.acquire.bind(permits);
  const waiting: (AbortSignal | undefined)[] = [];
  let left = granted;
  permits.acquire = (request) => {
    if (request.bucket.startsWith("ip.") || (left -= 1) >= 0) return acquire(request);
    waiting.push(request.signal);
    return new Promise((_resolve, reject) => {
      request.signal?.addEventListener("abort", () => reject(request.signal?.reason), { once: true });
    });
  };
  return { permits, waiting };
}

describe("a call through the gateway", () => {
  /** A call with headers of its own, and what the platform has seen of it. */
  async function makeCall() {
    const { platform, url, permits } = await setup((_, response) => answer(response, 201, { ok: true }, quotaHeaders));
    const headers = { "x-svc-token": "mine", authorization: "Bearer mine", accept: "text/x", "content-type": "a/b" };
    const answered = await call(url, "/v1/files/a%20b?x=1&x=2", { method: "PUT", headers, body: "body" });
    return { answered, seen: platform.seen.at(-1), permits };
  }

  it("a call gets the pair, and its answer comes back as it is", async () => {
    const { answered, seen } = await makeCall();
    expect([answered.status, answered.text]).toEqual([201, '{"ok":true}']);
    expect(answered.headers).toMatchObject(quotaHeaders);
    expect(seen).toMatchObject({ method: "PUT", path: "/v1/files/a%20b?x=1&x=2", body: "body" });
    expect(seen?.headers).toMatchObject({
      "x-svc-api-key": "api-key-1",
      "x-svc-token": "token-1",
      accept: "text/x",
      "content-type": "a/b",
      "content-length": "4",
    });
    expect(seen?.headers.authorization).toBeUndefined();
  });

  it("a call spends a permit, which hears what the answer says of the quota", async () => {
    const { permits } = await makeCall();
    expect(permits.diary.slice(-2)).toEqual(["default.File sending", "default.File answered"]);
    expect(permits.answers.at(-1)).toEqual({
      reading: { limit: 60, remaining: 42, secondsBeforeRefresh: 17 },
      throttled: false,
    });
  });

  // Shows S1.
  it("the pair is in no answer and in no line of the log", async () => {
    const { url, log } = await setup((_request, response) =>
      answer(response, 403, { ok: false }, { "x-svc-token": "token-1", "x-svc-api-key": "api-key-1" }),
    );
    const answered = await call(url, "/v1/files/1?token=abc", { headers: { "x-simfleet-caller": "ci" } });
    expect(answered.status).toBe(403);
    const said = JSON.stringify([answered, log]);
    expect(said).toContain('\\"caller\\":\\"ci\\"');
    for (const secret of ["token-1", "api-key-1", "token=abc"]) expect(said).not.toContain(secret);
  });

  // Shows S1.
  it("an error that repeats the pair is forwarded without it, and a large one without its body", async () => {
    const pages = [1_000, 100_000].map((length) => `token-1 ${"x".repeat(length)} api-key-1`);
    const { url } = await setup((request, response) =>
      answer(response, 500, pages[Number(request.url?.slice(-1))] ?? "", { "x-echo": "token-1", "set-cookie": "a=b" }),
    );
    const small = await call(url, "/v1/files/0");
    expect([small.status, small.text]).toEqual([500, `[secret] ${"x".repeat(1_000)} [secret]`]);
    expect([small.headers["x-echo"], small.headers["set-cookie"]]).toEqual(["[secret]", undefined]);
    const large = await call(url, "/v1/files/1");
    expect(`${large.status},${large.text}`).toMatch(/^500,The gateway left out the body/);
  });

  // Shows S6.
  it("a redirect is handed on and not followed", async () => {
    const { ask, seen } = await setup((_request, response) =>
      answer(response, 302, "", { location: "https://elsewhere.example.com/x" }),
    );
    const answered = await ask();
    expect([answered.status, answered.headers.location]).toEqual([302, "https://elsewhere.example.com/x"]);
    expect(seen()).toHaveLength(1);
  });

  it("a path without a rule has a quota of its own, and is named once in the log", async () => {
    const { url, permits, log } = await setup();
    for (const path of ["/v1/unknown", "/v1/unknown/2?limit=1"]) {
      expect((await call(url, path)).status).toBe(200);
    }
    const answers = permits.diary.filter((line) => line.endsWith("answered") && !line.startsWith("ip."));
    expect(answers).toEqual(["default./unknown answered", "default./unknown answered"]);
    expect(log.filter((line) => line.includes("apiGroups"))).toHaveLength(1);
  });

  it("a platform that refuses connections is a problem with status 502, and the permit is given back", async () => {
    await using platform = await startOpenPlatform(fine);
    await using working = clientFor(platform.url, { clock: systemClock });
    const permits = new OpenPermits();
    await using accounting = clientFor(platform.url, { clock: systemClock, permits });
    const address = { origin: "http://127.0.0.1:1", prefix: "", host: "127.0.0.1:1", setting: "endpoints.global" };
    const client: GatewayOptions["client"] = {
      whoAmI: (signal) => working.whoAmI(signal),
      lend: async (signal) => ({ ...(await working.lend(signal)), address }),
      attempt: (operation, options) => accounting.attempt(operation, options),
    };
    const { ask } = await setup(fine, { client });
    expect(readProblem(await ask())).toMatchObject([502, { code: "PLATFORM_UNAVAILABLE" }]);
    expect(permits.diary).toEqual(["default.File giveBack"]);
  });
});

describe("an answer of the platform that means that nothing was done", () => {
  it("a call is sent again with a new pair after a 401", async () => {
    const { platform, ask, seen } = await setup((request, response) =>
      answer(response, request.headers["x-svc-token"] === "token-1" ? 401 : 200, "{}"),
    );
    expect((await ask({ method: "POST", body: "x" })).status).toBe(200);
    expect(seen().map(({ body }) => body)).toEqual(["x", "x"]);
    expect(platform.auths()).toBe(2);
  });

  it("a call is refused when the platform answers 401 to a new pair too", async () => {
    const { ask, seen } = await setup((_, response) => answer(response, 401, "{}"), { maxWaitMs: 60_000 });
    expect(readProblem(await ask())).toMatchObject([502, { code: "PLATFORM_UNAUTHORIZED" }]);
    expect(seen()).toHaveLength(2);
  });

  it("a 429 reaches no caller: the call is sent again", async () => {
    let calls = 0;
    const { ask, permits } = await setup((_request, response) => {
      calls += 1;
      answer(response, calls < 3 ? 429 : 200, "{}");
    });
    expect((await ask({ method: "POST", body: "x" })).status).toBe(200);
    expect(calls).toBe(3);
    const throttled = permits.answers.map((said) => (said as { throttled: boolean }).throttled);
    expect(throttled).toEqual([false, true, true, false]);
  });

  it.each([429, 401])("after a %i, a call with a large body is refused with 503 and Retry-After", async (status) => {
    const { ask, seen } = await setup((_, response) => answer(response, status, "{}", { "retry-after": "7" }));
    const answered = await ask({ method: "POST", body: Buffer.alloc(200_000, "x") });
    expect(answered.status).toBe(503);
    expect(Number(answered.headers["retry-after"])).toBeGreaterThanOrEqual(1);
    expect(seen()).toHaveLength(1);
  });
});

describe("a freeze", () => {
  const freeze = { reason: "the freeze year-end", untilMs: undefined };

  it("holds calls that may change something, and none that only read", async () => {
    const { ask, seen } = await setup(fine, { freezeOf: () => Promise.resolve(freeze) });
    const detail = expect.stringContaining("the freeze year-end") as unknown;
    for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
      const refused = await ask({ method });
      expect(refused.headers["retry-after"]).toBe("60");
      expect(readProblem(refused)).toMatchObject([503, { code: "CHANGES_FROZEN", detail }]);
    }
    expect((await ask()).status).toBe(200);
    expect(seen().map(({ method }) => method)).toEqual(["GET"]);
  });

  it("that begins while a call waits for its permit holds it, and the permit is given back", async () => {
    let asked = 0;
    const freezeOf = (): Promise<typeof freeze | undefined> => Promise.resolve((asked += 1) === 1 ? undefined : freeze);
    const { ask, seen, permits } = await setup(fine, { freezeOf });
    expect((await ask({ method: "POST" })).status).toBe(503);
    expect(seen()).toEqual([]);
    expect(permits.diary).toContain("default.File giveBack");
  });
});

describe("waiting for the quota", () => {
  it("a caller that disconnects while it waits leaves the queue", async () => {
    const { permits, waiting } = permitsAfter(0);
    const { url, log } = await setup(fine, { permits, maxWaitMs: 60_000 });
    const begun = beginCall(url, "/v1/files/1");
    begun.end();
    await until("the call waits", () => waiting.length === 1);
    begun.destroy();
    await until("the call is gone", () => log.some((line) => line.includes('"status":"gone"')));
    expect(waiting[0]?.aborted).toBe(true);
  });
});

describe("who may use the gateway", () => {
  // Shows S10.
  it("foreign hosts, pages and proxied targets are refused, and nothing is sent", async () => {
    const { platform, url, statusOf } = await setup();
    expect(await statusOf("/v1/files/1", { host: "evil.example.com" })).toBe(403);
    expect(await statusOf("/v1/files/1", { origin: "https://evil.example.com" })).toBe(403);
    expect(await statusOf("/v1/files/1", { "sec-fetch-site": "cross-site" })).toBe(403);
    expect(await statusOf("http://127.0.0.1:9/v1/files/1")).toBe(400);
    expect(await statusOf("/v1/files/%2e%2e/sims")).toBe(400);
    const tunnel = beginCall(url, "127.0.0.1:9", { method: "CONNECT" });
    const refused = new Promise<number | undefined>((resolve) =>
      tunnel.once("connect", ({ statusCode }) => resolve(statusCode)),
    );
    tunnel.end();
    expect(await refused).toBe(405);
    expect(platform.seen).toEqual([]);
  });

  // Shows S10.
  it("a missing or wrong token gets 401, after too many wrong ones of an address 429, and the right one passes", async () => {
    const { ask, seen } = await setup(fine, { token: new Secret(token) });
    const tried = (given: string) => ask({ headers: { authorization: `Bearer ${given}` } });
    for (let n = 0; n < 3; n += 1) expect((await tried("u".repeat(32))).status).toBe(401);
    const refused = await tried("u".repeat(32));
    expect(readProblem(refused)).toMatchObject([429, { code: "TOO_MANY_REQUESTS" }]);
    expect(Number(refused.headers["retry-after"])).toBeGreaterThan(0);
    expect((await ask()).status).toBe(401); // without a token it is no guess
    expect((await tried(token)).status).toBe(200);
    expect(seen()).toHaveLength(1);
  });

  const metrics = { contentType: "text/plain", text: "simfleet_calls_total 1\n" };

  it("health needs no token, and the metrics need it", async () => {
    let isReady = true;
    const { platform, url, statusOf } = await setup(fine, {
      token: new Secret(token),
      isReady: () => Promise.resolve(isReady),
      metrics: () => Promise.resolve(metrics),
    });
    const statuses = await Promise.all(["/healthz", "/readyz", "/metrics"].map((path) => statusOf(path)));
    expect(statuses).toEqual([200, 200, 401]);
    isReady = false;
    expect([await statusOf("/healthz"), await statusOf("/readyz")]).toEqual([200, 503]);
    const read = await call(url, "/metrics", { headers: bearer });
    expect(read).toMatchObject({ status: 200, text: metrics.text, headers: { "content-type": metrics.contentType } });
    expect(platform.seen).toEqual([]);
  });

  it("a request with more headers or longer ones than allowed is refused", async () => {
    const { ask } = await setup();
    const many = Object.fromEntries(Array.from({ length: 120 }, (_, n) => [`x-${n}`, "1"]));
    expect((await ask({ headers: many })).status).toBe(431);
    expect((await ask({ headers: { "x-long": "x".repeat(40_000) } })).status).toBe(431);
  });
});

// Shows S11.
describe("connections that send no whole request", () => {
  it("are closed for newer ones, and keep neither health nor a call with a token waiting", async () => {
    const { url, ask, statusOf } = await setup(fine, { token: new Secret(token) });
    const sockets: Socket[] = [];
    while (sockets.length < 1_200) {
      const some = Array.from({ length: 200 }, () => connect(Number(new URL(url).port), "127.0.0.1"));
      await Promise.all(some.map((socket) => once(socket, "connect")));
      for (const socket of some) socket.on("error", () => undefined).write("GET /v1/files/1 HTTP/1.1\r\nx-a: ");
      sockets.push(...some);
    }
    expect(await statusOf("/healthz")).toBe(200);
    expect((await ask({ headers: bearer })).status).toBe(200);
    await until("the oldest are closed", () => sockets.filter(({ closed }) => !closed).length <= 512);
    for (const socket of sockets) socket.destroy();
  });

  it("callers beyond 1,024 connections are refused with 503, and health is answered", async () => {
    const { platform, url, permits, ask, statusOf } = await setup(() => undefined);
    const sent = () => permits.diary.filter((what) => what === "default.File sending").length;
    const calls: ReturnType<typeof beginCall>[] = [];
    while (calls.length < 1_024) {
      calls.push(...Array.from({ length: 128 }, () => beginCall(url, "/v1/files/1").end()));
      await until("they are sent", () => sent() === calls.length);
    }
    const refused = await ask();
    expect([refused.status, refused.headers.connection]).toEqual([503, "close"]);
    expect(await statusOf("/healthz")).toBe(200);
    for (const begun of calls) begun.destroy();
    platform.server.closeAllConnections();
  });
});

describe("one connection", () => {
  it("that cannot be answered is closed and logged, and the next one is served", async () => {
    const { ask, log } = await setup(fine, { freezeOf: () => Promise.reject(null) });
    await expect(ask({ method: "POST" })).rejects.toThrow("socket hang up");
    expect(log.join("")).toContain("a connection to the gateway failed");
    expect((await ask()).status).toBe(200);
  });

  it("that asks for a tunnel and is reset ends nothing else", async () => {
    const { url, ask } = await setup();
    for (let n = 0; n < 20; n += 1) {
      const socket = connect(Number(new URL(url).port), "127.0.0.1");
      await once(socket, "connect");
      socket.write("CONNECT a:1 HTTP/1.1\r\nhost: a:1\r\n\r\n");
      socket.resetAndDestroy();
    }
    expect((await ask()).status).toBe(200);
  });
});

describe("stopping the gateway", () => {
  it("a call that was sent gets its answer, and one that waits is refused with 503", async () => {
    const { permits, waiting } = permitsAfter(1);
    const held = Promise.withResolvers<ServerResponse>();
    const handler: Handler = (_request, response) => held.resolve(response);
    const { gateway, url, ask } = await setup(handler, { permits, maxWaitMs: 60_000 });
    const sent = ask();
    const response = await held.promise;
    const refused = call(url, "/v1/files/2");
    await until("the second call waits", () => waiting.length === 1);
    const closed = gateway.close();
    expect((await refused).status).toBe(503);
    answer(response, 200, "{}");
    expect((await sent).status).toBe(200);
    await closed;
  });
});

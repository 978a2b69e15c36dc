import { describe, expect, it } from "vitest";
import type { CallOptions, PlatformClientOptions } from "#api/client-options.ts";
import { listSims } from "#api/operations/sims.ts";
import { updateSimSpeedClass } from "../../support/speed-class.ts";
import {
  answer,
  clientFor,
  refusalOf,
  startOpenPlatform,
  startPlatform,
  until,
  change,
  changed,
  type Handler,
  clientTo,
  quotaHeaders,
  OpenPermits,
} from "./support.ts";

async function setup(handler: Handler, changes: Partial<PlatformClientOptions> = {}) {
  const opened = clientTo(await startOpenPlatform(handler), changes);
  return { ...opened, call: (options?: CallOptions) => opened.client.call(updateSimSpeedClass, change, options) };
}

describe("API calls", () => {
  const japanese = { language: "ja", brand: "Soracom" } as const;

  it("the client authenticates once, with its AuthKey and without a token", async () => {
    const { platform, call } = await setup(changed, japanese);
    await call();
    expect(await call()).toEqual({ imsi: "001", speedClass: "s1.fast" });
    expect(platform.auths()).toBe(1);
    const [auth] = platform.seen;
    const pair = '{"authKeyId":"keyId-1","authKey":"secret-auth-key"}';
    expect(auth).toMatchObject({ method: "POST", path: "/v1/auth", body: pair });
    expect(auth?.headers["x-soracom-token"]).toBeUndefined();
  });

  it("a call sends the pair, the language, the agent and the body", async () => {
    const { platform, call } = await setup(changed, japanese);
    await call();
    const sent = platform.seen.at(-1);
    const path = "/v1/sims/8942310022000012345/update_speed_class";
    expect(sent).toMatchObject({ path, body: '{"speedClass":"s1.fast"}' });
    expect(sent?.headers).toMatchObject({
      "x-soracom-api-key": "api-key-1",
      "x-soracom-token": "token-1",
      "x-soracom-lang": "ja",
      "content-type": "application/json",
      "user-agent": "simfleet/test",
    });
  });

  it("a call acquires no permit while it waits for a connection slot and can be cancelled there", async () => {
    const held = Promise.withResolvers<void>();
    const hold: Handler = (request, response) => void held.promise.then(() => changed(request, response));
    const { platform, call, permits } = await setup(hold, { connections: 1 });
    const first = call();
    await until(() => platform.seen.length === 2); // with the authentication
    const stop = new AbortController();
    const second = call({ signal: stop.signal });
    const third = call();
    stop.abort(new Error("enough"));
    await expect(second).rejects.toThrow("enough");
    expect(permits.requests.filter((r) => r.bucket === "default.Sim").length).toBe(1);
    held.resolve();
    await Promise.all([first, third]);
  });

  it("a call that was sent runs to its end although its signal aborts", async () => {
    const sent = Promise.withResolvers<() => void>();
    const { call } = await setup((request, response) => sent.resolve(() => changed(request, response)));
    const stop = new AbortController();
    const called = call({ signal: stop.signal });
    const reply = await sent.promise;
    stop.abort(new Error("enough"));
    reply();
    expect(await called).toMatchObject({ speedClass: "s1.fast" });
  });

  it("a call reports a lost response to its permit", async () => {
    const { client, call, permits } = await setup((request) => void request.socket.destroy());
    const lost = await refusalOf(call());
    expect(lost).toMatchObject({ code: "PLATFORM_UNAVAILABLE", mayHaveApplied: true });
    expect(permits.diary.at(-1)).toBe("default.Sim lost");
    expect(lost.message).toMatch(/, so the outcome is unknown\.$/);
    // A read has no outcome.
    expect((await refusalOf(client.call(listSims, { limit: 1 }))).message).toMatch(/\)\. Try again\.$/);
  });

  it("a call that is not sent returns its permit", async () => {
    const permits = new OpenPermits();
    await using unreachable = clientFor("http://127.0.0.1:1", { permits });
    const unsent = await refusalOf(unreachable.call(updateSimSpeedClass, change));
    expect(unsent).toMatchObject({ code: "PLATFORM_UNAVAILABLE", mayHaveApplied: false });
    expect(permits.diary.at(-1)).toBe("ip.here.Auth-auth giveBack");
  });

  it("a call whose response body is lost after the headers counts as answered", async () => {
    const { call, permits } = await setup((request, response) => {
      response.writeHead(200, { ...quotaHeaders, "content-length": "100" });
      response.write('{"imsi":', () => request.socket.destroy());
    });
    const refusal = { code: "PLATFORM_UNAVAILABLE", mayHaveApplied: true };
    expect(await refusalOf(call())).toMatchObject(refusal);
    const written = permits.diary.filter((line) => line.startsWith("default"));
    expect(written).toEqual(["default.Sim sending", "default.Sim answered"]);
  });

  it("a call succeeds even when an event listener throws", async () => {
    const onEvent = (): never => {
      throw new Error("telemetry");
    };
    const { call } = await setup(changed, { onEvent });
    await expect(call()).resolves.toMatchObject({ speedClass: "s1.fast" });
  });

  it("a call keeps the path before /v1 of its address", async () => {
    await using platform = await startPlatform((request, response) => {
      if (request.url === "/gw/v1/auth") answer(response, 200, { operatorId: "OP1", apiKey: "k", token: "t" });
      else answer(response, 200, []);
    });
    await using client = clientFor(`${platform.url}/gw/`);
    await client.call(listSims, { limit: 2 });
    expect(platform.seen.map((call) => call.path)).toEqual(["/gw/v1/auth", "/gw/v1/sims?limit=2"]);
  });
});

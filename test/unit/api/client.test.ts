import { describe, expect, it } from "vitest";
import type { PlatformClientOptions } from "#api/client-options.ts";
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

const setup = async (handler: Handler, changes: Partial<PlatformClientOptions> = {}) =>
  clientTo(await startOpenPlatform(handler), changes);

describe("API calls", () => {
  it("the client authenticates once, then sends the pair, language, agent, and body with each call", async () => {
    const { platform, client } = await setup(changed, { language: "ja", brand: "Soracom" });
    await client.call(updateSimSpeedClass, change);
    expect(await client.call(updateSimSpeedClass, change)).toEqual({ imsi: "001", speedClass: "s1.fast" });
    expect(platform.auths()).toBe(1);
    const [auth, call] = platform.seen;
    const pair = '{"authKeyId":"keyId-1","authKey":"secret-auth-key"}';
    expect(auth).toMatchObject({ method: "POST", path: "/v1/auth", body: pair });
    expect(auth?.headers["x-soracom-token"]).toBeUndefined();
    const path = "/v1/sims/8942310022000012345/update_speed_class";
    expect(call).toMatchObject({ path, body: '{"speedClass":"s1.fast"}' });
    expect(call?.headers).toMatchObject({
      "x-soracom-api-key": "api-key-1",
      "x-soracom-token": "token-1",
      "x-soracom-lang": "ja",
      "content-type": "application/json",
      "user-agent": "simfleet/test",
    });
  });

  it("a call acquires no permit while it waits for a connection slot and can be cancelled there", async () => {
    const held: (() => void)[] = [];
    const hold: Handler = (request, response) => void held.push(() => changed(request, response));
    const { client, permits } = await setup(hold, { connections: 1 });
    const first = client.call(updateSimSpeedClass, change);
    await until(() => held.length === 1);
    const stop = new AbortController();
    const second = client.call(updateSimSpeedClass, change, { signal: stop.signal });
    const third = client.call(updateSimSpeedClass, change);
    stop.abort(new Error("enough"));
    await expect(second).rejects.toThrow("enough");
    expect(permits.requests.filter((r) => r.bucket === "default.Sim").length).toBe(1);
    held[0]?.();
    await first;
    await until(() => held.length === 2);
    held[1]?.();
    await third;
  });

  it("a call that was sent runs to its end although its signal aborts", async () => {
    const sent = Promise.withResolvers<() => void>();
    const { client } = await setup((request, response) => sent.resolve(() => changed(request, response)));
    const stop = new AbortController();
    const called = client.call(updateSimSpeedClass, change, { signal: stop.signal });
    const reply = await sent.promise;
    stop.abort(new Error("enough"));
    reply();
    expect(await called).toMatchObject({ speedClass: "s1.fast" });
  });

  it("a call reports a lost response to its permit", async () => {
    const { client, permits } = await setup((request) => void request.socket.destroy());
    const lost = await refusalOf(client.call(updateSimSpeedClass, change));
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
    const { client, permits } = await setup((request, response) => {
      response.writeHead(200, { ...quotaHeaders, "content-length": "100" });
      response.write('{"imsi":', () => request.socket.destroy());
    });
    const refusal = { code: "PLATFORM_UNAVAILABLE", mayHaveApplied: true };
    expect(await refusalOf(client.call(updateSimSpeedClass, change))).toMatchObject(refusal);
    const written = permits.diary.filter((line) => line.startsWith("default"));
    expect(written).toEqual(["default.Sim sending", "default.Sim answered"]);
  });

  it("a call succeeds even when an event listener throws", async () => {
    const onEvent = (): never => {
      throw new Error("telemetry");
    };
    const { client } = await setup(changed, { onEvent });
    await expect(client.call(updateSimSpeedClass, change)).resolves.toMatchObject({ speedClass: "s1.fast" });
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

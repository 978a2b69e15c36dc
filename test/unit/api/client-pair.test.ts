import { describe, expect, it } from "vitest";
import { updateSimSpeedClass } from "../../support/speed-class.ts";
import type { PlatformClientOptions } from "#api/client-options.ts";
import { answer, change, changed, clientTo, type Handler, refusalOf, startOpenPlatform } from "./support.ts";

const setup = async (handler: Handler, changes: Partial<PlatformClientOptions> = {}) =>
  clientTo(await startOpenPlatform(handler), changes);

describe("pair handling of the API client", () => {
  // Shows S4.
  it("the client renews the pair once after a 401 and retries the call with a new permit", async () => {
    const refuseFirst: Handler = (request, response) =>
      request.headers["x-svc-token"] === "token-1" ? answer(response, 401, "") : changed(request, response);
    const { platform, client, permits } = await setup(refuseFirst, { connections: 20 });
    await Promise.all(Array.from({ length: 20 }, () => client.call(updateSimSpeedClass, change)));
    expect(platform.auths()).toBe(2);
    expect(permits.diary.filter((line) => line === "default.Sim answered").length).toBeLessThanOrEqual(40);
  });

  it("the client gives up after a second 401 and does not authenticate again for each later call", async () => {
    const { platform, client } = await setup((_, response) => answer(response, 401, { code: "A1", message: "no" }));
    for (let i = 0; i < 10; i += 1) {
      const refusal = await refusalOf(client.call(updateSimSpeedClass, change));
      expect(refusal).toMatchObject({ code: "PLATFORM_UNAUTHORIZED", mayHaveApplied: false });
    }
    expect(platform.auths()).toBe(2);
  });

  it("two consecutive 401s are retryable when earlier pairs were accepted", async () => {
    let good = true;
    const { platform, client } = await setup((request, response) =>
      good ? changed(request, response) : answer(response, 401, ""),
    );
    await client.call(updateSimSpeedClass, change);
    good = false;
    const codes: string[] = [];
    for (let i = 0; i < 5; i += 1) codes.push((await refusalOf(client.call(updateSimSpeedClass, change))).code);
    expect(codes.slice(0, 2)).toEqual(["PLATFORM_UNAVAILABLE", "PLATFORM_UNAVAILABLE"]);
    expect(codes.slice(2)).toEqual(["PLATFORM_UNAUTHORIZED", "PLATFORM_UNAUTHORIZED", "PLATFORM_UNAUTHORIZED"]);
    expect(platform.auths()).toBe(5);
  });

  // Shows S4.
  it("the client authenticates once for 100 concurrent callers and limits calls in flight to its connections", async () => {
    let inFlight = 0;
    let max = 0;
    const count: Handler = (request, response) => {
      max = Math.max(max, (inFlight += 1));
      setImmediate(() => {
        inFlight -= 1;
        changed(request, response);
      });
    };
    const { platform, client } = await setup(count, { connections: 4 });
    await Promise.all(Array.from({ length: 100 }, () => client.call(updateSimSpeedClass, change)));
    expect(platform.auths()).toBe(1);
    expect(max).toBeLessThanOrEqual(4);
  });
});

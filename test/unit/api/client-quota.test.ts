import { describe, expect, it } from "vitest";
import type { ClientEvent } from "#api/client-options.ts";
import { quotaOwner } from "#api/operations/operation.ts";
import { listSims } from "#api/operations/sims.ts";
import { updateSimSpeedClass } from "../../support/speed-class.ts";
import {
  answer,
  clientFor,
  type Handler,
  OpenPermits,
  quotaHeaders,
  refusalOf,
  startOpenPlatform,
  change,
  changed,
} from "./support.ts";

describe("quota handling of the API client", () => {
  it("a 429 is reported to the permit, the listener, and the caller", async () => {
    const throttle: Handler = (_request, response) =>
      answer(response, 429, "", {
        ...quotaHeaders,
        "x-svc-ratelimit-remaining": "0",
        "retry-after": "40",
      });
    await using platform = await startOpenPlatform(throttle);
    const permits = new OpenPermits();
    const events: ClientEvent[] = [];
    await using client = clientFor(platform.url, {
      permits,
      onEvent: (event) => {
        events.push(event);
      },
    });
    const error = await refusalOf(client.call(updateSimSpeedClass, change));
    expect(error).toMatchObject({
      code: "PLATFORM_RATE_LIMITED",
      retryAfterMs: 40_000,
      bucket: "default.Sim",
      status: 429,
    });
    expect(permits.answers.at(-1)).toEqual({
      reading: { limit: 60, remaining: 0, secondsBeforeRefresh: 17 },
      throttled: true,
      retryAfterMs: 40_000,
    });
    const types = ["answered", "renewed", "quota-owner", "answered", "throttled"];
    expect(events.map((event) => event.type)).toEqual(types);
    expect(events[0]).toMatchObject({ clockAheadMs: expect.any(Number) as number });
  });

  it("calls and lent calls spend the quota of the operator at its address, whatever the profile", async () => {
    await using platform = await startOpenPlatform(changed);
    const permits = new OpenPermits();
    const events: ClientEvent[] = [];
    const onEvent = (event: ClientEvent): void => void events.push(event);
    const owner = `OP1@${new URL(platform.url).host}`;
    for (const name of ["root", "user"]) {
      const profile = { name, coverage: "g", wording: "sims" } as const;
      await using client = clientFor(platform.url, { permits, profile, quotaScope: undefined, onEvent });
      await client.call(updateSimSpeedClass, change);
      await client.lend();
      (await client.attempt({ id: "gateway.Sim", quota: { group: "Sim" } }, {})).failed();
    }
    const buckets = ["ip.here.Auth-auth", `${owner}.Sim`, `${owner}.Sim`];
    expect(permits.requests.map(({ bucket }) => bucket)).toEqual([...buckets, ...buckets]);
    expect(events.filter(({ type }) => type === "quota-owner")).toEqual([
      { type: "quota-owner", owner, fleet: "OP1@g.sims", isRoot: true },
      { type: "quota-owner", owner, fleet: "OP1@g.sims", isRoot: true },
    ]);
  });

  it.each([
    ["g", "sims"],
    ["jp", "sims"],
    ["g", "subscribers"],
  ] as const)("SIMs of coverage %s by the wording %s are a fleet of their own", async (coverage, wording) => {
    await using platform = await startOpenPlatform(changed);
    const { url } = platform;
    const fleets: string[] = [];
    const onEvent = (event: ClientEvent): void => void (event.type === "quota-owner" && fleets.push(event.fleet));
    const endpoints = { global: url, japan: url };
    await using client = clientFor(url, { profile: { name: "root", coverage, wording }, endpoints, onEvent });
    await client.assertAddress();
    expect(fleets).toEqual([`OP1@${coverage}.${wording}`]);
  });

  it.each([
    ["OP0012345678", "OP0012345678@api.example:444/x"],
    ["a b.c@d:{e}", "a_b_c_d__e_~"],
    ["9".repeat(65), `${"9".repeat(40)}~`],
  ])("the operator %j is named %s in buckets", (operatorId, named) => {
    const owner = quotaOwner(operatorId, { host: "api.example:444", prefix: "/x" });
    expect(owner.startsWith(named)).toBe(true);
    expect(owner).toMatch(/^[\w-]{1,40}(?:~[0-9a-f]{16})?@api\.example:444\/x$/);
    expect(quotaOwner(`${operatorId}0`, { host: "api.example:444", prefix: "/x" })).not.toBe(owner);
  });

  it.each([
    [{}, 60_000],
    [{ ...quotaHeaders }, 17_000],
    [{ ...quotaHeaders, "x-svc-ratelimit-seconds-before-refresh": "1000000000" }, 60_000],
    [{ ...quotaHeaders, "retry-after": "1" }, 17_000],
  ])("a call with a 429 and %j waits %i ms", async (headers, waitMs) => {
    await using platform = await startOpenPlatform((_request, response) => answer(response, 429, "", headers));
    await using client = clientFor(platform.url);
    expect((await refusalOf(client.call(listSims, {}))).retryAfterMs).toBe(waitMs);
  });
});

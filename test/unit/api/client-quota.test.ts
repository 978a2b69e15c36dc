import { describe, expect, it } from "vitest";
import { quotaOwner } from "#api/operations/operation.ts";
import { listSims } from "#api/operations/sims.ts";
import { updateSimSpeedClass } from "../../support/speed-class.ts";
import {
  answer,
  type Handler,
  refusalOf,
  startOpenPlatform,
  change,
  changed,
  clientTo,
  quotaHeaders,
} from "./support.ts";

const setup = async (handler: Handler) => clientTo(await startOpenPlatform(handler));

describe("quota handling of the API client", () => {
  it("a 429 is reported to the permit, the listener, and the caller", async () => {
    const headers = { ...quotaHeaders, "x-svc-ratelimit-remaining": "0", "retry-after": "40" };
    const { client, permits, events } = await setup((_, response) => answer(response, 429, "", headers));
    const error = await refusalOf(client.call(updateSimSpeedClass, change));
    const wait = { retryAfterMs: 40_000 };
    expect(error).toMatchObject({ code: "PLATFORM_RATE_LIMITED", ...wait, bucket: "default.Sim", status: 429 });
    const reading = { limit: 60, remaining: 0, secondsBeforeRefresh: 17 };
    expect(permits.answers.at(-1)).toEqual({ reading, throttled: true, ...wait });
    const types = ["answered", "renewed", "quota-owner", "answered", "throttled"];
    expect(events.map((event) => event.type)).toEqual(types);
    expect(events[0]).toMatchObject({ clockAheadMs: expect.any(Number) as number });
  });

  it("calls and lent calls spend the quota of the operator at its address, whatever the profile", async () => {
    const platform = await startOpenPlatform(changed);
    const owner = `OP1@${new URL(platform.url).host}`;
    for (const name of ["root", "user"]) {
      const profile = { name, coverage: "g", wording: "sims" } as const;
      const { client, permits, events } = clientTo(platform, { profile, quotaScope: undefined });
      await client.call(updateSimSpeedClass, change);
      await client.lend();
      (await client.attempt({ id: "gateway.Sim", quota: { group: "Sim" } }, {})).failed();
      const buckets = ["ip.here.Auth-auth", `${owner}.Sim`, `${owner}.Sim`];
      expect(permits.requests.map(({ bucket }) => bucket)).toEqual(buckets);
      const reported = { type: "quota-owner", owner, fleet: "OP1@g.sims", isRoot: true };
      expect(events.filter(({ type }) => type === "quota-owner")).toEqual([reported]);
    }
  });

  it.each([
    ["g", "sims"],
    ["jp", "sims"],
    ["g", "subscribers"],
  ] as const)("SIMs of coverage %s by the wording %s are a fleet of their own", async (coverage, wording) => {
    const platform = await startOpenPlatform(changed);
    const endpoints = { global: platform.url, japan: platform.url };
    const { client, events } = clientTo(platform, { profile: { name: "root", coverage, wording }, endpoints });
    await client.assertAddress();
    const fleets = events.flatMap((event) => (event.type === "quota-owner" ? event.fleet : []));
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
    const { client } = await setup((_, response) => answer(response, 429, "", headers));
    expect((await refusalOf(client.call(listSims, {}))).retryAfterMs).toBe(waitMs);
  });
});

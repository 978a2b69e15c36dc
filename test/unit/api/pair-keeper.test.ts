import { describe, expect, it } from "vitest";
import type { ClientEvent } from "#api/client-options.ts";
import { PairKeeper } from "#api/auth/pair-keeper.ts";
import type { Pair } from "#api/auth/pair.ts";
import { checkTtl, lifetimeMs } from "#api/auth/renewal-timing.ts";
import { PlatformError } from "#core/errors.ts";
import { liveSecrets, Secret } from "#core/secret.ts";
import { StillClock, until } from "./support.ts";

const hourMs = 3_600_000;

/** A keeper whose authentications end when the test says so. */
function keeperFor(name = "pair") {
  const clock = new StillClock();
  const events: ClientEvent[] = [];
  const asked: { resolve(): void; reject(error: unknown): void }[] = [];
  const authenticate = (): Promise<Pair> =>
    new Promise((resolve, reject) => {
      const number = asked.length + 1;
      const endsAtMs = clock.monotonicMs() + hourMs;
      asked.push({
        reject,
        resolve: () =>
          resolve({
            operatorId: "OP1",
            userName: undefined,
            madeWith: { kind: "root", email: "root@example.com", password: new Secret("pair-password") },
            apiKey: new Secret(`${name}-key-${number}`),
            token: new Secret(`${name}-token-${number}`),
            coverageTypes: undefined,
            endsAtMs,
            expiresAtMs: clock.epochMs + endsAtMs,
          }),
      });
    });
  const keeper = new PairKeeper({ clock, source: { authenticate }, emit: (event) => events.push(event) });
  const obtained = async (): Promise<Pair> => {
    const pair = keeper.obtain();
    asked.at(-1)?.resolve();
    return pair;
  };
  return { clock, events, asked, keeper, obtained };
}

const refused = new PlatformError("PLATFORM_UNAUTHORIZED", "refused", { operation: "auth" });
const away = new PlatformError("PLATFORM_UNAVAILABLE", "away", { operation: "auth" });

describe("the pair keeper", () => {
  it("the pair keeper authenticates once for 100 concurrent callers", async () => {
    const { keeper, asked } = keeperFor();
    const callers = Array.from({ length: 100 }, () => keeper.obtain());
    await until(() => asked.length > 0);
    asked[0]?.resolve();
    const pairs = new Set(await Promise.all(callers));
    expect(pairs.size).toBe(1);
    expect(asked.length).toBe(1);
  });

  it("the pair keeper renews a pair before it expires while calls continue with the old pair", async () => {
    const { keeper, clock, asked, events, obtained } = keeperFor();
    const first = await obtained();
    clock.pass(hourMs - 670_000);
    expect(keeper.ready()).toBe(first);
    expect(asked.length).toBe(1);
    clock.pass(670_000 - 299_999); // within the margin of 5 to 11 minutes
    expect(keeper.ready()).toBe(first);
    expect(keeper.ready()).toBe(first);
    expect(asked.length).toBe(2);
    asked[1]?.resolve();
    await until(() => keeper.ready() !== first);
    expect(events.at(-1)).toMatchObject({ type: "renewed", reason: "early" });
  });

  it("the pair keeper keeps the old pair when an early renewal fails and waits before a retry", async () => {
    const { keeper, clock, asked, events, obtained } = keeperFor();
    const first = await obtained();
    clock.pass(hourMs - 120_000);
    keeper.ready();
    asked[1]?.reject(refused);
    await until(() => events.at(-1)?.type === "renewal-failed");
    for (let i = 0; i < 100; i += 1) expect(await keeper.obtain()).toBe(first);
    expect(asked.length).toBe(2);
    clock.pass(30_001);
    expect(keeper.ready()).toBe(first);
    expect(asked.length).toBe(3);
  });

  it("the pair keeper makes calls wait once the old pair has expired", async () => {
    const { keeper, clock, asked, events, obtained } = keeperFor();
    const first = await obtained();
    clock.pass(hourMs);
    expect(keeper.ready()).toBeUndefined();
    const next = keeper.obtain();
    await until(() => asked.length === 2);
    asked[1]?.resolve();
    expect(await next).not.toBe(first);
    expect(events.at(-1)).toMatchObject({ type: "renewed", reason: "expired" });
  });

  it("the pair keeper remembers refused credentials for a while instead of retrying for each call", async () => {
    const { keeper, clock, asked } = keeperFor();
    const first = keeper.obtain();
    asked[0]?.reject(refused);
    await expect(first).rejects.toBe(refused);
    for (let i = 0; i < 50; i += 1) await expect(keeper.obtain()).rejects.toBe(refused);
    expect(asked.length).toBe(1);
    clock.pass(30_000);
    const later = keeper.obtain();
    asked[1]?.resolve();
    await expect(later).resolves.toBeDefined();
    expect(asked.length).toBe(2);
  });

  it("the pair keeper retries soon after an outage and at once with new credentials", async () => {
    const { keeper, clock, asked } = keeperFor();
    const first = keeper.obtain();
    asked[0]?.reject(away);
    await expect(first).rejects.toBe(away);
    clock.pass(101);
    const second = keeper.obtain();
    asked[1]?.reject(refused);
    await expect(second).rejects.toBe(refused);
    keeper.renewSoon();
    const third = keeper.obtain();
    asked[2]?.resolve();
    await expect(third).resolves.toMatchObject({ operatorId: "OP1" });
  });

  it("the pair keeper renews once for repeated 401s, and a late 401 leaves the newer pair valid", async () => {
    const { keeper, asked, events, obtained } = keeperFor();
    const first = await obtained();
    keeper.accepted(first);
    expect([keeper.invalidate(first), keeper.invalidate(first)]).toEqual([true, true]);
    const second = await obtained();
    expect(second).not.toBe(first);
    expect(keeper.invalidate(first)).toBe(true);
    expect(await keeper.obtain()).toBe(second);
    expect(asked.length).toBe(2);
    expect(events.at(-1)).toMatchObject({ type: "renewed", reason: "refused" });
  });

  it("the pair keeper limits renewals when every new pair is refused", async () => {
    const { keeper, asked, clock, obtained } = keeperFor();
    expect(keeper.invalidate(await obtained())).toBe(true);
    const second = await obtained();
    expect([keeper.invalidate(second), keeper.invalidate(second)]).toEqual([false, false]);
    expect(await keeper.obtain()).toBe(second);
    expect(asked.length).toBe(2);
    clock.pass(30_000);
    expect(keeper.invalidate(second)).toBe(true);
    expect(keeper.invalidate(await obtained())).toBe(false);
  });

  it("the pair keeper allows more renewals when pairs were accepted before, and each accepted pair resets the count", async () => {
    const { keeper, obtained } = keeperFor();
    for (let round = 0; round < 2; round += 1) {
      const good = await obtained();
      keeper.accepted(good);
      expect(keeper.invalidate(good)).toBe(true);
      for (let i = 0; i < 3; i += 1) expect(keeper.invalidate(await obtained())).toBe(true);
    }
    expect(keeper.invalidate(await obtained())).toBe(false);
  });

  it("the pair keeper lets one waiting caller cancel without affecting the others", async () => {
    const { keeper, asked } = keeperFor();
    const stop = new AbortController();
    const impatient = keeper.obtain(stop.signal);
    const patient = keeper.obtain();
    stop.abort(new Error("enough"));
    await expect(impatient).rejects.toThrow("enough");
    asked[0]?.resolve();
    await expect(patient).resolves.toBeDefined();
  });

  it("the pair keeper renews in the background at once when credentials are replaced", async () => {
    const { keeper, asked, obtained } = keeperFor();
    const first = await obtained();
    keeper.renewSoon();
    expect(keeper.ready()).toBe(first);
    expect(asked.length).toBe(2);
  });

  it("the pair keeper unregisters the secrets of a pair one generation after its replacement", async () => {
    const { keeper, obtained } = keeperFor("watched");
    for (let i = 0; i < 3; i += 1) {
      const pair = await obtained();
      keeper.accepted(pair);
      if (i < 2) keeper.invalidate(pair);
    }
    const watched = (): string[] =>
      liveSecrets()
        .filter((value) => value.startsWith("watched-token"))
        .toSorted();
    expect(watched()).toEqual(["watched-token-2", "watched-token-3"]);
    keeper.close();
    expect(watched()).toEqual([]);
  });
});

describe("pair lifetimes", () => {
  it.each([180, 86_400, 172_800])("a pair lifetime of %i s is accepted", (seconds) => {
    expect(() => checkTtl({ field: "ttl", seconds })).not.toThrow();
    expect(lifetimeMs({ field: "ttl", seconds })).toBe(seconds * 1_000);
  });

  it.each([179, 172_801, 0, -1, 180.5, NaN])("a pair lifetime of %d s is rejected", (seconds) => {
    expect(() => checkTtl({ field: undefined, seconds })).toThrow(/SIMFLEET_TOKEN_TTL_SECONDS.*180 to 172800/);
  });

  it("a pair lives one day by default, and a lifetime without a field can only shorten it", () => {
    expect(lifetimeMs({ field: "ttl", seconds: undefined })).toBe(86_400_000);
    expect(lifetimeMs({ field: undefined, seconds: 172_800 })).toBe(86_400_000);
    expect(lifetimeMs({ field: undefined, seconds: 300 })).toBe(300_000);
  });

  it.each(["password", "a b", "__proto__"])("a pair lifetime cannot use a field named %s", (field) => {
    expect(() => checkTtl({ field, seconds: 180 })).toThrow(/ttlField/);
  });
});

import { describe, expect, it } from "vitest";
import type { ClientEvent } from "#api/client-event.ts";
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

describe("the keeper of the pair", () => {
  it("authenticates once for 100 callers at once", async () => {
    const { keeper, asked } = keeperFor();
    const callers = Array.from({ length: 100 }, () => keeper.obtain());
    await until(() => asked.length > 0);
    asked[0]?.resolve();
    const pairs = new Set(await Promise.all(callers));
    expect(pairs.size).toBe(1);
    expect(asked.length).toBe(1);
  });

  it("renews before the end while the calls go on with the old pair", async () => {
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

  it("keeps the old pair when an early renewal fails, and does not hammer", async () => {
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

  it("makes calls wait once the old pair has ended", async () => {
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

  it("remembers refused credentials for a while instead of asking for each call", async () => {
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

  it("asks again soon when the platform was only away, and at once with new credentials", async () => {
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

  it("renews once for any number of 401s to one pair, and a late 401 leaves the newer pair alone", async () => {
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

  it("does not ask for pairs without end when each new one is refused too", async () => {
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

  it("is more patient where pairs were taken before, and starts anew with each that is", async () => {
    const { keeper, obtained } = keeperFor();
    for (let round = 0; round < 2; round += 1) {
      const good = await obtained();
      keeper.accepted(good);
      expect(keeper.invalidate(good)).toBe(true);
      for (let i = 0; i < 3; i += 1) expect(keeper.invalidate(await obtained())).toBe(true);
    }
    expect(keeper.invalidate(await obtained())).toBe(false);
  });

  it("lets one waiting caller give up without disturbing the others", async () => {
    const { keeper, asked } = keeperFor();
    const stop = new AbortController();
    const impatient = keeper.obtain(stop.signal);
    const patient = keeper.obtain();
    stop.abort(new Error("enough"));
    await expect(impatient).rejects.toThrow("enough");
    asked[0]?.resolve();
    await expect(patient).resolves.toBeDefined();
  });

  it("renews at once, behind the calls, when the credentials were replaced", async () => {
    const { keeper, asked, obtained } = keeperFor();
    const first = await obtained();
    keeper.renewSoon();
    expect(keeper.ready()).toBe(first);
    expect(asked.length).toBe(2);
  });

  it("ends the watch over values that are gone, one generation late", async () => {
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

describe("the lifetime of a pair", () => {
  it.each([180, 86_400, 172_800])("may be %i s", (seconds) => {
    expect(() => checkTtl({ field: "ttl", seconds })).not.toThrow();
    expect(lifetimeMs({ field: "ttl", seconds })).toBe(seconds * 1_000);
  });

  it.each([179, 172_801, 0, -1, 180.5, NaN])("may not be %d s", (seconds) => {
    expect(() => checkTtl({ field: undefined, seconds })).toThrow(/SIMFLEET_TOKEN_TTL_SECONDS.*180 to 172800/);
  });

  it("is the default of a day unless asked for, and a wish without a field can only shorten it", () => {
    expect(lifetimeMs({ field: "ttl", seconds: undefined })).toBe(86_400_000);
    expect(lifetimeMs({ field: undefined, seconds: 172_800 })).toBe(86_400_000);
    expect(lifetimeMs({ field: undefined, seconds: 300 })).toBe(300_000);
  });

  it.each(["password", "a b", "__proto__"])("cannot be asked for in a field named %s", (field) => {
    expect(() => checkTtl({ field, seconds: 180 })).toThrow(/ttlField/);
  });
});

import { describe, expect, it } from "vitest";
import type { ClientEvent } from "#api/client-options.ts";
import { PairKeeper } from "#api/auth/pair-keeper.ts";
import type { Pair } from "#api/auth/pair.ts";
import { marginMs } from "#api/auth/renewal-timing.ts";
import { PlatformError } from "#core/errors.ts";
import { Secret } from "#core/secret.ts";
import { StillClock, until } from "./support.ts";

const hourMs = 3_600_000;
const away = new PlatformError("PLATFORM_UNAVAILABLE", "away", { operation: "auth" });

interface Asked {
  readonly how: "auth" | "token";
  give(answer?: "nothing"): void;
  fail(error: unknown): void;
}

/** A keeper with both ways to a fresh pair, which end when the test says so. */
function keeperFor(chance = 0) {
  const clock = new StillClock();
  const events: ClientEvent[] = [];
  const asked: Asked[] = [];
  const ask = <T>(how: Asked["how"], nothing: T): Promise<Pair | T> =>
    new Promise((resolve, reject) => {
      const name = `${how}-${asked.length + 1}`;
      const endsAtMs = clock.monotonicMs() + hourMs;
      const pair: Pair = {
        operatorId: "OP1",
        userName: undefined,
        coverageTypes: undefined,
        madeWith: {
          kind: "root",
          email: "root@example.com",
          password: new Secret("renewal-password"),
        },
        apiKey: new Secret("renewal-key"),
        token: new Secret(`renewal-token-${name}`),
        endsAtMs,
        expiresAtMs: clock.epochMs + endsAtMs,
      };
      asked.push({ how, fail: reject, give: (answer) => resolve(answer === "nothing" ? nothing : pair) });
    });
  const keeper = new PairKeeper({
    clock,
    source: { authenticate: () => ask("auth", undefined) as Promise<Pair>, renew: () => ask("token", undefined) },
    emit: (event) => events.push(event),
    chance: () => chance,
  });
  const first = async (): Promise<Pair> => {
    const pair = keeper.obtain();
    asked[0]?.give();
    return pair;
  };
  const ways = () => asked.map(({ how }) => how);
  return { clock, events, asked, ways, keeper, first };
}

describe("pairs due for renewal", () => {
  it("a pair due for renewal gets a new token without spending the authentication limit", async () => {
    const { keeper, clock, asked, ways, events, first } = keeperFor();
    const old = await first();
    clock.pass(hourMs - 300_000);
    for (let i = 0; i < 100; i += 1) expect(keeper.ready()).toBe(old);
    asked[1]?.give();
    await until(() => keeper.ready() !== old);
    expect(ways()).toEqual(["auth", "token"]);
    expect(events.map((event) => "by" in event && [event.reason, event.by])).toEqual([
      ["first", "auth"],
      ["early", "token"],
    ]);
  });

  it("a pair due for renewal is replaced by authentication when a new token is refused", async () => {
    const { keeper, clock, asked, ways, events, first } = keeperFor();
    const old = await first();
    clock.pass(hourMs - 300_000);
    keeper.ready();
    asked[1]?.give("nothing");
    await until(() => asked.length === 3);
    expect(keeper.ready()).toBe(old);
    asked[2]?.give();
    await until(() => keeper.ready() !== old);
    expect(ways()).toEqual(["auth", "token", "auth"]);
    expect(events.at(-1)).toMatchObject({ type: "renewed", reason: "early", by: "auth" });
  });

  it("a pair due for renewal stays in use during an outage, is retried, and is replaced when it expires", async () => {
    const { keeper, clock, asked, ways, events, first } = keeperFor();
    const old = await first();
    clock.pass(hourMs - 300_000);
    keeper.ready();
    asked[1]?.fail(away);
    await until(() => events.at(-1)?.type === "renewal-failed");
    expect(keeper.ready()).toBe(old);
    clock.pass(1_001);
    keeper.ready();
    expect(ways()).toEqual(["auth", "token", "token"]);
    asked[2]?.fail(away);
    await until(() => events.length === 3);
    clock.pass(300_000);
    const next = keeper.obtain();
    asked[3]?.give();
    expect(await next).not.toBe(old);
    expect(ways()).toEqual(["auth", "token", "token", "auth"]);
  });

  it("the token renewal of a pair is discarded when the pair gets a 401 meanwhile", async () => {
    const { keeper, clock, asked, ways, first } = keeperFor();
    const old = await first();
    keeper.accepted(old);
    clock.pass(hourMs - 300_000);
    keeper.ready();
    expect(keeper.invalidate(old)).toBe(true);
    const next = keeper.obtain();
    asked[1]?.give();
    await until(() => asked.length === 3);
    asked[2]?.give();
    expect((await next).token.reveal()).toBe("renewal-token-auth-3");
    expect(ways()).toEqual(["auth", "token", "auth"]);
  });

  it("a pair that expired or was refused before its renewal is replaced by authentication", async () => {
    const { keeper, clock, asked, ways, first } = keeperFor();
    const old = await first();
    clock.pass(hourMs);
    const second = keeper.obtain();
    asked[1]?.give();
    expect(keeper.invalidate(await second)).toBe(true);
    const third = keeper.obtain();
    asked[2]?.give();
    expect([old, await second]).not.toContain(await third);
    expect(ways()).toEqual(["auth", "auth", "auth"]);
  });
});

describe("early renewal times", () => {
  it.each([
    [86_400_000, 300_000, 3_900_000],
    [172_800_000, 300_000, 3_900_000],
    [hourMs, 300_000, 660_000],
    [180_000, 18_000, 36_000],
    [15_000, 7_500, 9_000],
  ])(
    "the early renewal of a pair of %i ms happens randomly from %i to %i ms before its end",
    (pairMs, minMs, maxMs) => {
      expect(marginMs(pairMs, 0)).toBe(minMs);
      expect(marginMs(pairMs, 0.999_999_9)).toBeCloseTo(maxMs, -1);
      expect(marginMs(pairMs, 0.999_999_9)).toBeLessThan(pairMs);
    },
  );

  it("early renewals are spread over workers that start together", async () => {
    const instants = await Promise.all(
      [0, 0.25, 0.5, 0.75].map(async (chance) => {
        const { keeper, clock, ways, first } = keeperFor(chance);
        await first();
        let passedMs = 0;
        for (; ways().length === 1; passedMs += 1_000) {
          clock.pass(1_000);
          keeper.ready();
        }
        return hourMs - passedMs;
      }),
    );
    expect(instants).toEqual([300_000, 390_000, 480_000, 570_000]);
  });
});

describe("requested renewals", () => {
  it("a requested renewal authenticates in the background", async () => {
    const { keeper, asked, ways, events, first } = keeperFor();
    const old = await first();
    const fresh = keeper.renewNow();
    expect(keeper.ready()).toBe(old);
    asked[1]?.give();
    const installed = await fresh;
    expect(installed).not.toBe(old);
    expect(keeper.ready()).toBe(installed);
    expect(ways()).toEqual(["auth", "auth"]);
    expect(events.at(-1)).toMatchObject({ type: "renewed", reason: "asked", by: "auth" });
  });

  it("a requested renewal waits for one in progress, and several requests share one renewal", async () => {
    const { keeper, asked, ways } = keeperFor();
    const first = keeper.obtain();
    const asking = [keeper.renewNow(), keeper.renewNow()];
    asked[0]?.give();
    await until(() => asked.length === 2);
    asked[1]?.give();
    const [one, other] = await Promise.all(asking);
    expect(one).toBe(other);
    expect(one).not.toBe(await first);
    expect(keeper.ready()).toBe(one);
    expect(ways()).toEqual(["auth", "auth"]);
  });

  it("a requested renewal that fails is reported and leaves the current pair in use", async () => {
    const { keeper, asked, first } = keeperFor();
    const old = await first();
    const fresh = keeper.renewNow();
    asked[1]?.fail(away);
    await expect(fresh).rejects.toBe(away);
    expect(await keeper.obtain()).toBe(old);
  });

  it("a requested renewal can be cancelled", async () => {
    const { keeper, asked } = keeperFor();
    const stop = new AbortController();
    const fresh = keeper.renewNow(stop.signal);
    stop.abort(new Error("enough"));
    await expect(fresh).rejects.toThrow("enough");
    await expect(keeper.renewNow(stop.signal)).rejects.toThrow("enough");
    asked[0]?.give();
  });
});

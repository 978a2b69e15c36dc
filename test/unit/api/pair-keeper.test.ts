import { describe, expect, it } from "vitest";
import type { ClientEvent } from "#api/client-options.ts";
import { PairKeeper, marginMs } from "#api/auth/pair-keeper.ts";
import { type Pair, lifetimeMs } from "#api/auth/pair.ts";
import { PlatformError } from "#core/errors.ts";
import { Secret } from "#core/secrets/secret.ts";
import { StillClock, until } from "./support.ts";

const hourMs = 3_600_000;

/** A keeper whose authentications, and renewals by token if it has them, end when the test says so. */
function setup({ chance = 0, hasTokens = false, name = "pair" } = {}) {
  const clock = new StillClock();
  const events: ClientEvent[] = [];
  const asked: { readonly how: "auth" | "token"; give(): void; fail(error: unknown): void }[] = [];
  const ask = (how: "auth" | "token"): Promise<Pair> =>
    new Promise((resolve, reject) => {
      const number = asked.length + 1;
      const endsAtMs = clock.monotonicMs() + hourMs;
      const pair: Pair = {
        operatorId: "OP1",
        userName: undefined,
        madeWith: { kind: "root", email: "root@example.com", password: new Secret("pair-password") },
        apiKey: new Secret(`${name}-key-${number}`),
        token: new Secret(`${name}-token-${number}`),
        coverageTypes: undefined,
        endsAtMs,
        expiresAtMs: clock.epochMs + endsAtMs,
      };
      asked.push({ how, fail: reject, give: () => resolve(pair) });
    });
  const source = { authenticate: () => ask("auth"), ...(hasTokens && { renew: () => ask("token") }) };
  const keeper = new PairKeeper({ clock, source, emit: (event) => events.push(event), chance: () => chance });
  const obtained = async (): Promise<Pair> => {
    const pair = keeper.obtain();
    asked.at(-1)?.give();
    return pair;
  };
  const ways = () => asked.map(({ how }) => how);
  return { clock, events, asked, ways, keeper, obtained };
}

const refused = new PlatformError("PLATFORM_UNAUTHORIZED", "refused", { operation: "auth" });
const away = new PlatformError("PLATFORM_UNAVAILABLE", "away", { operation: "auth" });

describe("the pair keeper", () => {
  it("the pair keeper retries soon after an outage and at once with new credentials", async () => {
    const { keeper, clock, asked } = setup();
    const first = keeper.obtain();
    asked[0]?.fail(away);
    await expect(first).rejects.toBe(away);
    clock.pass(101);
    const second = keeper.obtain();
    asked[1]?.fail(refused);
    await expect(second).rejects.toBe(refused);
    const third = keeper.renewNow();
    asked[2]?.give();
    await expect(third).resolves.toMatchObject({ operatorId: "OP1" });
  });

  it("the pair keeper renews once for repeated 401s, and a late 401 leaves the newer pair valid", async () => {
    const { keeper, asked, events, obtained } = setup();
    const first = await obtained();
    keeper.accepted(first);
    expect([keeper.invalidate(first), keeper.invalidate(first)]).toEqual([true, true]);
    const second = await obtained();
    expect(second).not.toBe(first);
    expect(keeper.invalidate(first)).toBe(true);
    expect(await keeper.obtain()).toBe(second);
    expect(asked.length).toBe(2);
    expect(events.at(-1)).toMatchObject({ type: "renewed", reason: "rejected" });
  });

  it("the pair keeper lets one waiting caller cancel without affecting the others", async () => {
    const { keeper, asked } = setup();
    const stop = new AbortController();
    const impatient = keeper.obtain(stop.signal);
    const patient = keeper.obtain();
    stop.abort(new Error("enough"));
    await expect(impatient).rejects.toThrow("enough");
    asked[0]?.give();
    await expect(patient).resolves.toBeDefined();
  });
});

describe("pairs due for renewal", () => {
  it("the token renewal of a pair is discarded when the pair gets a 401 meanwhile", async () => {
    const { keeper, clock, asked, ways, obtained } = setup({ hasTokens: true });
    const old = await obtained();
    keeper.accepted(old);
    clock.pass(hourMs - 300_000);
    keeper.ready();
    expect(keeper.invalidate(old)).toBe(true);
    const next = keeper.obtain();
    asked[1]?.give();
    await until(() => asked.length === 3);
    asked[2]?.give();
    expect((await next).token.reveal()).toBe("pair-token-3");
    expect(ways()).toEqual(["auth", "token", "auth"]);
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
        const { keeper, clock, ways, obtained } = setup({ chance });
        await obtained();
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
  it("a requested renewal waits for one in progress, and several requests share one renewal", async () => {
    const { keeper, asked, ways } = setup({ hasTokens: true });
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
});

describe("pair lifetimes", () => {
  it("a pair lives one day by default or as long as its field says, and a lifetime without a field can only shorten it", () => {
    expect(lifetimeMs({ field: "ttl", seconds: undefined })).toBe(86_400_000);
    expect(lifetimeMs({ field: "ttl", seconds: 172_800 })).toBe(172_800_000);
    expect(lifetimeMs({ field: undefined, seconds: 172_800 })).toBe(86_400_000);
    expect(lifetimeMs({ field: undefined, seconds: 300 })).toBe(300_000);
  });
});

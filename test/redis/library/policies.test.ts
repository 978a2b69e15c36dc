/** An API with several quotas at once, and programs that share them with `simfleet/limiter`. */
import { expect, inject, test } from "vitest";
import { systemClock } from "#core/time.ts";
import {
  type Limiter,
  type LimiterOptions,
  openLimiter,
  readRateLimitHeaders,
  readRetryAfter,
} from "#library/limiter.ts";
import { testKeys } from "../../support/redis.ts";
import { until } from "../../support/until.ts";

interface Policy {
  readonly name: string;
  readonly limit: number;
  readonly seconds: number;
  /** Users have a quota each. */
  readonly isPerUser?: boolean;
}

type Fields = "both" | "policy only" | "limit only" | "none";

interface Quota extends Policy {
  calls: number;
  beginMs: number;
}

/** Counts calls in fixed windows and sends its policies as the draft says. A refused call counts in none of them. */
class ModelApi {
  refused = 0;
  served = 0;
  readonly #quotas = new Map<string, Quota>();
  readonly #policies: readonly Policy[];
  readonly #fields: Fields;

  constructor(policies: readonly Policy[], fields: Fields = "both") {
    this.#policies = policies;
    this.#fields = fields;
  }

  async call(user = ""): Promise<{ status: number; headers: Headers }> {
    await systemClock.sleep(3 + (this.served % 5));
    const nowMs = systemClock.monotonicMs();
    const quotas = this.#policies.map((policy) => this.#quotaAt(policy, user, nowMs));
    const spent = quotas.filter(({ calls, limit }) => calls >= limit);
    for (const quota of spent.length > 0 ? [] : quotas) quota.calls += 1;
    if (spent.length > 0) this.refused += 1;
    else this.served += 1;
    const headers = this.#headers(quotas, user, nowMs);
    await systemClock.sleep(3 + (this.served % 4));
    return { status: spent.length > 0 ? 429 : 200, headers };
  }

  #quotaAt(policy: Policy, user: string, nowMs: number): Quota {
    const name = policy.isPerUser ? `${policy.name} ${user}` : policy.name;
    const quota = this.#quotas.get(name) ?? { ...policy, calls: 0, beginMs: nowMs - 400 * policy.seconds };
    while (nowMs >= quota.beginMs + policy.seconds * 1_000) {
      quota.beginMs += policy.seconds * 1_000;
      quota.calls = 0;
    }
    this.#quotas.set(name, quota);
    return quota;
  }

  #headers(quotas: readonly Quota[], user: string, nowMs: number): Headers {
    const keyOf = ({ isPerUser }: Policy): string => (isPerUser ? `;pk=:${btoa(user)}:` : "");
    const policies = quotas.map((one) => `"${one.name}";q=${one.limit};w=${one.seconds}${keyOf(one)}`);
    const limits = quotas.map((one) => {
      const leftMs = one.beginMs + one.seconds * 1_000 - nowMs;
      return `"${one.name}";r=${one.limit - one.calls};t=${Math.ceil(leftMs / 1_000)}${keyOf(one)}`;
    });
    const headers = new Headers();
    if (this.#fields === "both" || this.#fields === "policy only") headers.set("RateLimit-Policy", policies.join(", "));
    if (this.#fields === "both" || this.#fields === "limit only") headers.set("RateLimit", limits.join(", "));
    return headers;
  }
}

function open(options: LimiterOptions): Limiter & AsyncDisposable {
  const limiter = openLimiter(options);
  return { ...limiter, [Symbol.asyncDispose]: () => limiter.close() };
}

/** Makes calls until the API has served `count` of them, each in turn as soon as it is permitted. */
async function spend(limiter: Limiter, api: ModelApi, count: number, user?: string): Promise<void> {
  for (let served = 0; served < count;) {
    try {
      const permit = await limiter.acquire("api", user === undefined ? {} : { partition: user });
      permit.sending();
      const { status, headers } = await api.call(user);
      const retryAfterMs = readRetryAfter(headers);
      permit.answered({ policies: readRateLimitHeaders(headers), throttled: status === 429, retryAfterMs });
      if (status === 200) served += 1;
    } catch (thrown) {
      const { code, retryAfterMs } = thrown as { code?: string; retryAfterMs?: number };
      if (code !== "PLATFORM_THROTTLED") throw thrown;
      await systemClock.sleep(retryAfterMs ?? 100);
    }
  }
}

const several = (work: () => Promise<void>, times: number): Promise<void[]> =>
  Promise.all(Array.from({ length: times }, work));
const burstAndTotal = [
  { name: "burst", limit: 6, seconds: 1 },
  { name: "total", limit: 14, seconds: 4 },
];

test.concurrent("no policy is exceeded when an API reports several at once", async () => {
  const api = new ModelApi(burstAndTotal);
  await using limiter = open({ store: "memory" });
  await several(() => spend(limiter, api, 4), 5);
  expect([api.served, api.refused]).toEqual([20, 0]);
  await until("every permit has ended", async () => (await limiter.state("api")).inFlight === 0);
});

test.concurrent("no policy is exceeded when an API reports its policies and not what is left", async () => {
  const api = new ModelApi(burstAndTotal, "policy only");
  await using limiter = open({ store: "memory" });
  await several(() => spend(limiter, api, 4), 5);
  expect([api.served, api.refused]).toEqual([20, 0]);
});

test.concurrent("no quota is exceeded when an API reports what is left and not its policies", async () => {
  const api = new ModelApi([{ name: "default", limit: 7, seconds: 2 }], "limit only");
  await using limiter = open({ store: "memory", periodMs: 2_000 });
  await several(() => spend(limiter, api, 4), 5);
  expect([api.served, api.refused]).toEqual([20, 0]);
});

test.concurrent("no documented limit is exceeded when an API reports nothing", async () => {
  const api = new ModelApi(burstAndTotal, "none");
  const limits = {
    api: [
      { limit: 6, periodMs: 1_000 },
      { limit: 14, periodMs: 4_000 },
    ],
  };
  await using limiter = open({ store: "memory", limits });
  await several(() => spend(limiter, api, 4), 5);
  expect([api.served, api.refused]).toEqual([20, 0]);
});

test.concurrent("two programs with one Redis share all policies, and a third knows them before its first call", async () => {
  const redis = inject("redis");
  if ("failure" in redis) throw new Error(redis.failure);
  const options = { redis: redis.url, keyPrefix: testKeys().prefix };
  const api = new ModelApi(burstAndTotal);
  await using first = open(options);
  await using second = open(options);
  await Promise.all([first, second].map((limiter) => several(() => spend(limiter, api, 3), 3)));
  expect([api.served, api.refused]).toEqual([18, 0]);
  await using third = open(options);
  expect(await third.state("api")).toMatchObject({ limit: expect.any(Number) as number });
});

test.concurrent("users with a quota each do not wait for each other, and share the quota of the program", async () => {
  const api = new ModelApi([
    { name: "user", limit: 2, seconds: 2, isPerUser: true },
    { name: "program", limit: 9, seconds: 2 },
  ]);
  await using limiter = open({ store: "memory" });
  const beginMs = systemClock.monotonicMs();
  await Promise.all(["ann", "bob", "cem"].map((user) => spend(limiter, api, 2, user)));
  expect(systemClock.monotonicMs() - beginMs).toBeLessThan(1_900);
  await Promise.all(["ann", "bob", "cem", "dia"].map((user) => spend(limiter, api, 2, user)));
  expect([api.served, api.refused]).toEqual([14, 0]);
});

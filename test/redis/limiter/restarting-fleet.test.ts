import { expect, it, onTestFinished } from "vitest";
import type { PlatformClient } from "#api/client.ts";
import { PlatformError } from "#core/errors.ts";
import { systemClock } from "#core/time.ts";
import { Limiter } from "#limiter/limiter.ts";
import { keysWithin, openTestRedis } from "../../support/redis.ts";
import { answer, clientFor, startPlatform } from "../../unit/api/support.ts";
import { ModelPlatform } from "./model-platform.ts";

const { keys, connect } = openTestRedis();
const periodMs = 2_000;

/** Twelve workers of a platform that takes five authentications a window, and sends its headers only if asked. */
async function setup(says: "its quota" | "nothing") {
  const model = new ModelPlatform({
    periodMs,
    windowBeginsMs: performance.now() - 300,
    limit: 5,
    rounding: "up",
    windows: "periodic",
    driftPpm: 0,
  });
  const pair = { operatorId: "OP1", apiKey: "fleet-key", token: "fleet-token" };
  const platform = await startPlatform((_, response) => {
    const { isThrottled, reading } = model.receive(performance.now(), "normal");
    const headers: Record<string, string> =
      says === "nothing"
        ? {}
        : {
            "x-svc-ratelimit-limit": String(reading.limit),
            "x-svc-ratelimit-remaining": String(reading.remaining),
            "x-svc-ratelimit-seconds-before-refresh": String(reading.secondsBeforeRefresh),
          };
    answer(response, isThrottled ? 429 : 200, isThrottled ? "" : pair, headers);
  });
  const own = keysWithin(keys);
  const permits = () => new Limiter({ redis: connect(), keys: own, periodMs });
  const open = () => clientFor(platform.url, { clock: systemClock, periodMs, permits: permits() });
  const workers = Array.from({ length: 12 }, open);
  onTestFinished(async () => {
    await Promise.all(workers.map((client) => client.close()));
    await platform[Symbol.asyncDispose]();
  });
  return { model, workers };
}

/** A worker that has just started: it authenticates, and waits as long as a rejection says. */
async function start(client: PlatformClient): Promise<void> {
  while (true) {
    try {
      await client.whoAmI();
      return;
    } catch (thrown) {
      if (!(thrown instanceof PlatformError) || thrown.disposition === "never") throw thrown;
      await systemClock.sleep(thrown.retryAfterMs ?? 100);
    }
  }
}

it.each(["its quota", "nothing"] as const)(
  "twelve workers that start together on a platform that reports %s all sign in with at most one 429 per window",
  async (says) => {
    const { model, workers } = await setup(says);
    await Promise.all(workers.map(start));
    const refused = model.windows.map((window) => window.refused.normal);
    expect(Math.max(...refused)).toBeLessThanOrEqual(1);
    expect(model.windows.reduce((sum, window) => sum + window.counted.normal, 0)).toBe(12);
  },
);

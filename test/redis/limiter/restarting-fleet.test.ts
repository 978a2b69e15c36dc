import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { PlatformClient } from "#api/client.ts";
import { PlatformError } from "#core/errors.ts";
import { Secret } from "#core/secrets/secret.ts";
import { systemClock } from "#core/time.ts";
import { Limiter } from "#limiter/limiter.ts";
import { keysWithin, openTestRedis } from "../../support/redis.ts";
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
  const reply = (response: ServerResponse): void => {
    const { isThrottled, reading } = model.receive(performance.now(), "normal");
    const headers: Record<string, string> =
      says === "nothing"
        ? {}
        : {
            "x-svc-ratelimit-limit": String(reading.limit),
            "x-svc-ratelimit-remaining": String(reading.remaining),
            "x-svc-ratelimit-seconds-before-refresh": String(reading.secondsBeforeRefresh),
          };
    response.writeHead(isThrottled ? 429 : 200, headers);
    response.end(isThrottled ? "" : JSON.stringify({ operatorId: "OP1", apiKey: "fleet-key", token: "fleet-token" }));
  };
  const server = createServer((request, response) => {
    request.resume().on("end", () => reply(response));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const own = keysWithin(keys);
  const authKey = { kind: "auth-key" as const, authKeyId: "keyId-fleet", authKey: new Secret("secret-fleet-key") };
  const shared = {
    profile: { name: "default", coverage: "g", wording: "sims" } as const,
    brand: "Svc",
    language: "en" as const,
    userAgent: "simfleet/test",
    connections: 4,
    periodMs,
    clock: systemClock,
    endpoints: { global: `http://127.0.0.1:${(server.address() as AddressInfo).port}` },
    credentials: () => [authKey],
  };
  const permits = () => new Limiter({ redis: connect(), keys: own, periodMs });
  const workers = Array.from({ length: 12 }, () => new PlatformClient({ ...shared, permits: permits() }));
  onTestFinished(async () => {
    await Promise.all(workers.map((client) => client.close()));
    await new Promise<void>((resolve) => server.close(() => resolve()));
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

import { describe, expect, it } from "vitest";
import { updateSimSpeedClass } from "../../support/speed-class.ts";
import { PlatformError } from "#core/errors.ts";
import { answer, change, changed, clientFor, OpenPermits, startPlatform, StillClock } from "./support.ts";

const periodMs = 60_000;

/** One budget of authentications per address, as the limiter keeps it for all processes: what is spent stays spent. */
class SharedPermits extends OpenPermits {
  readonly #clock: StillClock;
  readonly #callsPerPeriod: number;
  #spent = 0;
  #window = -1;

  constructor(clock: StillClock, callsPerPeriod: number) {
    super();
    this.#clock = clock;
    this.#callsPerPeriod = callsPerPeriod;
  }

  override acquire(request: Parameters<OpenPermits["acquire"]>[0]): ReturnType<OpenPermits["acquire"]> {
    if (!request.bucket.startsWith("ip.")) return super.acquire(request);
    const window = Math.floor(this.#clock.nowMs / periodMs);
    if (window !== this.#window) this.#spent = 0;
    this.#window = window;
    if (this.#spent < this.#callsPerPeriod) {
      this.#spent += 1;
      return super.acquire(request);
    }
    const retryAfterMs = periodMs - (this.#clock.nowMs % periodMs);
    const facts = { operation: "auth", bucket: request.bucket, retryAfterMs };
    return Promise.reject(new PlatformError("PLATFORM_THROTTLED", "the quota is spent", facts));
  }
}

/** A platform that takes so many authentications a minute from one address, and counts those beyond. */
async function openPlatform(clock: StillClock, callsPerPeriod: number) {
  const windows = new Map<number, number>();
  let refused = 0;
  const platform = await startPlatform((request, response) => {
    if (request.url !== "/v1/auth") return changed(request, response);
    const window = Math.floor(clock.nowMs / periodMs);
    const count = (windows.get(window) ?? 0) + 1;
    windows.set(window, count);
    if (count <= callsPerPeriod) return answer(response, 200, { operatorId: "OP1", apiKey: "key-f", token: "token-f" });
    refused += 1;
    answer(response, 429, "");
  });
  return Object.assign(platform, { windows, refused: () => refused });
}

describe("workers that restart together", () => {
  it("workers that restart together never exceed the authentication limit of their address and all connect eventually", async () => {
    const clock = new StillClock();
    await using platform = await openPlatform(clock, 5);
    const permits = new SharedPermits(clock, 5);
    const workers = Array.from({ length: 18 }, () => clientFor(platform.url, { clock, permits, connections: 4 }));
    let waiting = workers;
    for (let window = 0; waiting.length > 0 && window < 10; window += 1) {
      // Each worker has calls waiting on every connection.
      const tries = await Promise.all(
        waiting.map(async (client) => {
          const calls = Array.from({ length: 4 }, () => client.call(updateSimSpeedClass, change));
          return { client, results: await Promise.allSettled(calls) };
        }),
      );
      const held = tries.filter(({ results }) => results.some(({ status }) => status === "rejected"));
      for (const { results } of held) {
        for (const result of results) {
          expect(result).toMatchObject({
            status: "rejected",
            reason: { code: "PLATFORM_THROTTLED", disposition: "later", retryAfterMs: expect.any(Number) },
          });
        }
      }
      waiting = held.map(({ client }) => client);
      clock.pass(periodMs);
    }
    expect([...platform.windows.values()]).toEqual([5, 5, 5, 3]);
    expect(platform.refused()).toBe(0);
    await Promise.all(workers.map((client) => client.close()));
  });

  it("a worker that restarts repeatedly within a window sends nothing after the limit is spent", async () => {
    const clock = new StillClock();
    await using platform = await openPlatform(clock, 3);
    const permits = new SharedPermits(clock, 3);
    for (let restart = 0; restart < 20; restart += 1) {
      await using worker = clientFor(platform.url, { clock, permits });
      await worker.call(updateSimSpeedClass, change).catch(() => undefined);
    }
    expect([...platform.windows.values()]).toEqual([3]);
    clock.pass(periodMs);
    await using worker = clientFor(platform.url, { clock, permits });
    await expect(worker.call(updateSimSpeedClass, change)).resolves.toBeDefined();
  });

  it("a worker continues with its current pair while the authentication limit is spent", async () => {
    const clock = new StillClock();
    await using platform = await openPlatform(clock, 1);
    const permits = new SharedPermits(clock, 1);
    await using worker = clientFor(platform.url, { clock, permits, chance: () => 0 });
    await worker.call(updateSimSpeedClass, change);
    await using other = clientFor(platform.url, { clock, permits });
    clock.pass(86_400_000 - 300_000);
    await other.call(updateSimSpeedClass, change);
    for (let i = 0; i < 10; i += 1) await worker.call(updateSimSpeedClass, change);
    expect(platform.refused()).toBe(0);
  });
});

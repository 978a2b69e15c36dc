/** A limit that an API documents but does not send, on a platform that counts from any instant. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { exchangeArguments, type ExchangeRequest, type Observation } from "#limiter/exchange.ts";
import { openMemoryStore } from "#limiter/memory/memory-store.ts";
import { readLua } from "#redis/script.ts";

const source = readLua(new URL("../../../src/limiter/fixed-limit.lua", import.meta.url));
const beginMs = 1_790_000_000_000;
const leaseMs = 3_000;

interface Call {
  readonly number: number;
  readonly process: string;
  readonly grantedAtMs: number;
  arrivedAtMs?: number;
}

/** One bucket with a clock of its own. */
async function openBucket(options: { limit: number; periodMs: number; reserve?: number }) {
  let nowMs = beginMs;
  const store = await openMemoryStore(() => nowMs);
  let number = 1;
  const exchange = async (process: string, asked: Partial<ExchangeRequest>) => {
    const request = {
      want: 0,
      firstPermitNumber: number,
      urgency: "normal" as const,
      backlog: -1,
      observations: [],
      ...asked,
    };
    const { limit, periodMs, reserve = 0 } = options;
    const args = exchangeArguments({ bucket: "b", processId: process, periodMs, reserve, leaseMs }, request, nowMs);
    const reply = (await store.eval(source, 2, "bucket", "permits", limit, ...args)) as string[];
    number += request.want;
    const calls = Array.from({ length: Number(reply[3]) }, (_, i): Call => {
      return { number: request.firstPermitNumber + i, process, grantedAtMs: nowMs };
    });
    return { calls, waitMs: Number(reply[4]), left: Number(reply[6]), inFlight: Number(reply[7]) };
  };
  const seen = (call: Call, kind: Observation["kind"], retryAfterMs = 0): Observation => ({
    permitNumber: call.number,
    kind,
    window: 0,
    serial: 0,
    grantedAtMs: call.grantedAtMs,
    sentAfterMs: 0,
    receivedAtMonotonicMs: nowMs,
    reading: undefined,
    retryAfterMs,
  });
  return { exchange, seen, pass: (ms: number) => (nowMs += ms), nowMs: () => nowMs, close: () => store.close() };
}

const step = fc.record({
  passMs: fc.integer({ min: 0, max: 400 }),
  process: fc.constantFrom("p1", "p2"),
  want: fc.integer({ min: 0, max: 4 }),
  fate: fc.constantFrom("answered", "answered", "answered", "lost", "back", "dies"),
  arrival: fc.integer({ min: 0, max: 10 }).map((tenths) => tenths / 10),
});

it("no interval of one period has more calls than the fixed limit, whenever they arrive and whatever becomes of them", async () => {
  const scenario = fc.record({
    limit: fc.integer({ min: 1, max: 5 }),
    periodMs: fc.constantFrom(500, 1_000, 2_000),
    steps: fc.array(step, { minLength: 20, maxLength: 60 }),
  });
  let granted = 0;
  await fc.assert(
    fc.asyncProperty(scenario, async ({ limit, periodMs, steps }) => {
      const bucket = await openBucket({ limit, periodMs });
      const flying: Call[] = [];
      const arrivals: number[] = [];
      for (const { passMs, process, want, fate, arrival } of steps) {
        bucket.pass(passMs);
        const call = fate === "dies" ? undefined : flying.find((one) => one.process === process);
        const observations = call && fate !== "dies" ? [bucket.seen(call, fate)] : [];
        if (call) flying.splice(flying.indexOf(call), 1);
        if (call && fate !== "back") arrivals.push(call.grantedAtMs + arrival * (bucket.nowMs() - call.grantedAtMs));
        const { calls } = await bucket.exchange(process, { want, observations });
        granted += calls.length;
        flying.push(...calls);
      }
      for (const call of flying) arrivals.push(call.grantedAtMs + Math.min(leaseMs, bucket.nowMs() - call.grantedAtMs));
      bucket.close();
      for (const from of arrivals) {
        expect(arrivals.filter((at) => at >= from && at < from + periodMs).length).toBeLessThanOrEqual(limit);
      }
    }),
    { numRuns: 40, seed: 4_711 },
  );
  expect(granted).toBeGreaterThan(200);
});

it("a fixed limit is used to at least 97% by a caller that always wants more", async () => {
  const bucket = await openBucket({ limit: 100, periodMs: 1_000 });
  let calls = 0;
  for (let ms = 0; ms < 20_000; ms += 5) {
    bucket.pass(5);
    const got = await bucket.exchange("p", { want: 10 });
    await bucket.exchange("p", { observations: got.calls.map((call) => bucket.seen(call, "answered")) });
    calls += got.calls.length;
  }
  bucket.close();
  expect(calls).toBeGreaterThanOrEqual(0.97 * 20 * 100);
});

it("a fixed limit says how long to wait, frees the permits of a dead process, and keeps its reserve", async () => {
  const bucket = await openBucket({ limit: 4, periodMs: 1_000, reserve: 0.25 });
  const { calls } = await bucket.exchange("p", { want: 9 });
  expect(calls).toHaveLength(3);
  expect((await bucket.exchange("p", { want: 1, urgency: "priority" })).calls).toHaveLength(1);
  expect(await bucket.exchange("p", { want: 1 })).toMatchObject({ calls: [], waitMs: 250, inFlight: 4 });
  bucket.pass(leaseMs);
  expect(await bucket.exchange("p", { want: 1 })).toMatchObject({ calls: [], inFlight: 0, left: 0 });
  bucket.pass(1_010);
  expect(await bucket.exchange("p", { want: 9 })).toMatchObject({ inFlight: 3, left: 1 });
  bucket.close();
});

it("a 429 closes a bucket with a fixed limit for the time of Retry-After, or for one period", async () => {
  const bucket = await openBucket({ limit: 50, periodMs: 1_000 });
  const one = await bucket.exchange("p", { want: 2 });
  const [first, second] = one.calls as [Call, Call];
  const closed = await bucket.exchange("p", { want: 1, observations: [bucket.seen(first, "throttled", 7_000)] });
  expect(closed).toMatchObject({ calls: [], waitMs: 7_000 });
  bucket.pass(7_000);
  const again = await bucket.exchange("p", { want: 1, observations: [bucket.seen(second, "throttled")] });
  expect(again).toMatchObject({ calls: [], waitMs: 1_000 });
  bucket.pass(1_000);
  expect((await bucket.exchange("p", { want: 1 })).calls).toHaveLength(1);
  bucket.close();
});

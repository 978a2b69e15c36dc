/** When a worker polls its schedules: when they are due, and every second. */
import { expect, it, onTestFinished } from "vitest";
import { systemClock } from "#core/time.ts";
import { openWorkerRegistry } from "#engine/queue/worker-registry.ts";
import { pollSchedules, schedulesQueue } from "#jobs/schedules/work.ts";
import { openTestRedis } from "../../support/redis.ts";
import { until } from "../../support/until.ts";
import { ScheduleDeps } from "./schedule-harness.ts";

const { redis, keys } = openTestRedis();
const workerRegistry = openWorkerRegistry({ redis, keys });

const { schedule: nightly } = new ScheduleDeps({ redis, keys }, "2026-11-22T00:00:00Z", { cron: "0 3 * * *" });

/** Polls until the test ends, with pauses that are noted and take a thousandth of their time. */
async function setup(poll: (atMs: number) => Promise<number>, { tasksHash = "a", startedMs = 0 } = {}) {
  const clock = {
    ...systemClock,
    wallMs: () => 1_790_000_000_000 + startedMs,
    sleep: (delayMs: number, signal?: AbortSignal) => {
      pauses.push(delayMs);
      return systemClock.sleep(delayMs / 1_000, signal);
    },
  };
  const pauses: number[] = [];
  const incidents: string[] = [];
  const onIncident = ({ message }: { message: string }): void => void incidents.push(message);
  const deps = { clock, workerRegistry, config: { tasksHash }, onIncident };
  const stop = await pollSchedules([nightly], () => poll(clock.wallMs()), deps);
  onTestFinished(stop);
  return { pauses, incidents, stop };
}

it("a schedule is polled when its poll asks for it, and registered while a worker polls it", async () => {
  const { pauses, stop } = await setup((atMs) => Promise.resolve(atMs + 300));
  await until("it was polled three times", () => pauses.length >= 3);
  expect(new Set(pauses)).toEqual(new Set([300]));
  expect(await workerRegistry.workers(schedulesQueue)).toHaveLength(1);
  await stop();
  expect(await workerRegistry.workers(schedulesQueue)).toEqual([]);
});

it("a schedule that waits for days is polled every second, so that a request is noticed", async () => {
  const { pauses } = await setup((atMs) => Promise.resolve(atMs + 86_400_000));
  await until("it was polled three times", () => pauses.length >= 3);
  expect(new Set(pauses)).toEqual(new Set([1_000]));
});

it("a poll that fails is reported and repeated", async () => {
  const { pauses, incidents } = await setup(() => Promise.reject(new Error("Redis is full")));
  await until("it is tried again", () => pauses.length >= 2);
  expect([pauses[0], incidents[0]]).toEqual([10_000, "the schedule nightly is tried again: Redis is full"]);
});

it("of two workers with different tasks the newer one polls alone, until it stops", async () => {
  let polls = 0;
  const older = await setup((atMs) => Promise.resolve(atMs + (polls += 1)));
  await until("the older one polls", () => polls > 2);
  const newer = await setup((atMs) => Promise.resolve(atMs + 300), { tasksHash: "b", startedMs: 5 });
  await until("the older one says so", () => older.incidents.length === 1);
  expect(older.incidents[0]).toContain("newer configuration (b)");
  const before = polls;
  await until("both had time for many polls", () => newer.pauses.length > 100);
  expect(polls).toBe(before);
  await newer.stop();
  await until("the older one polls again", () => polls > before);
});

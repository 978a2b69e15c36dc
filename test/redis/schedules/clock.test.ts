/** The jobs of schedules: each waits until its schedule has work, and of several workers the newest one acts. */
import { type TestContext, describe, expect, it } from "vitest";
import { Lifecycle } from "#core/process/lifecycle.ts";
import { systemClock } from "#core/time.ts";
import type { Incident } from "#engine/queue/job-result.ts";
import { namedJobs } from "#engine/queue/named-jobs.ts";
import { openWorkerRegistry } from "#engine/queue/worker-registry.ts";
import { scheduleService } from "#jobs/schedules/service.ts";
import { consumeSchedules } from "#jobs/schedules/work.ts";
import { keysWithin, openTestRedis } from "../../support/redis.ts";
import { until } from "../../support/until.ts";
import { ScheduleDeps } from "./schedule-harness.ts";

const { redis, keys, connect, lifecycle } = openTestRedis();

/** A schedule that is due at 03:00 in an hour, and workers that start on demand. */
function setup({ onTestFinished }: TestContext) {
  const harness = new ScheduleDeps({ redis, keys }, "2026-11-22T02:00:00Z", { cron: "0 3 * * *" });
  const own = keysWithin(keys);
  const workerRegistry = openWorkerRegistry({ redis, keys: own });
  const jobs = namedJobs("schedules", { redis, connect, keys: own, workerRegistry, clock: systemClock, lifecycle });
  const schedules = [harness.schedule];
  const absent = {} as never;
  const service = scheduleService({ ...harness.context, schedules, jobs, tasks: absent, runs: absent });
  const incidents: string[] = [];
  /** @returns stops the worker */
  const startWorker = async (tasksHash = "a", context = harness.context, configured = schedules) => {
    const lifecycleOfWorker = new Lifecycle();
    const onIncident = ({ message }: Incident): void => void incidents.push(message);
    const deps = { workerRegistry, lifecycle: lifecycleOfWorker, config: { tasksHash }, onIncident };
    harness.nowMs += 1;
    const [worker] = await consumeSchedules({ ...context, schedules: configured, jobs }, deps);
    onTestFinished(() => worker?.stop());
    return async () => {
      await worker?.stop();
      await lifecycleOfWorker.stop();
    };
  };
  return { harness, jobs, service, incidents, startWorker };
}

/** The first look at a schedule sets its next time. */
async function untilLookedAt({ log, schedule }: ScheduleDeps): Promise<void> {
  await until("it has its next time", async () => (await log.record(schedule)).dueMs !== undefined);
}

/** Waits until so many tasks have begun, and ends the last. */
async function untilDone(harness: ScheduleDeps, count: number): Promise<void> {
  await until(`task ${count} has begun`, () => harness.begunKeys.length === count);
  harness.tasks.end(harness.begunKeys.at(-1) ?? "");
  await until("it has ended", async () => (await harness.record()).execution === undefined);
}

/** What a worker uses, with a note of each beginning of a task. */
function noting({ context, tasks }: ScheduleDeps, note: () => void): ScheduleDeps["context"] {
  const begin: typeof tasks.begin = (...args) => (note(), tasks.begin(...args));
  const begunBefore = tasks.begunBefore.bind(tasks);
  const status = tasks.status.bind(tasks);
  return { ...context, tasks: { begin, begunBefore, status, cancel: tasks.cancel.bind(tasks) } };
}

/** Side by side, since most of them wait. */
describe.concurrent("the jobs of schedules", () => {
  it("a schedule that is due by a clock that was set starts within seconds, and is served while a worker runs", async (context) => {
    const { harness, jobs, startWorker } = setup(context);
    const stop = await startWorker();
    await untilLookedAt(harness);
    expect(await jobs.isServed()).toBe(true);
    harness.nowMs = Date.parse("2026-11-22T03:00:01Z");
    await until("it has begun", () => harness.begunKeys.length === 1);
    await stop();
    expect(await jobs.isServed()).toBe(false);
  });

  it("a request starts at once, also of a schedule that waits for its time or is paused", async (context) => {
    const { harness, service, startWorker } = setup(context);
    await startWorker();
    await untilLookedAt(harness);
    await service.trigger("nightly", { by: "ada" });
    await until("the first has begun", () => harness.begunKeys.length === 1);
    harness.tasks.end(harness.begunKeys[0] ?? "");
    await service.pause("nightly", "ada");
    harness.nowMs += 60_000;
    await service.trigger("nightly", { by: "ada" });
    await until("the second has begun", () => harness.begunKeys.length === 2);
  });

  it("a task whose end Redis has lost is followed to its end again, though its schedule waits for tomorrow", async (context) => {
    const { harness, service, startWorker } = setup(context);
    await startWorker();
    await untilLookedAt(harness);
    await service.trigger("nightly", { by: "ada" });
    await until("it has begun", async () => (await harness.record()).execution?.ref !== undefined);
    const bringBack = await harness.keepRecord();
    harness.tasks.end(harness.begunKeys[0] ?? "");
    await until("it has ended", async () => (await harness.record()).last !== undefined);
    await bringBack();
    expect((await harness.record()).last).toBeUndefined();
    await until("it has ended again", async () => (await harness.record()).last !== undefined);
    expect(harness.begunKeys).toHaveLength(1);
  });

  it("a schedule whose record cannot be read is reported and tried again", async (context) => {
    const { harness, incidents, startWorker } = setup(context);
    let reads = 0;
    const record: typeof harness.log.record = (of) =>
      (reads += 1) === 2 ? Promise.reject(new Error("Redis is full")) : harness.log.record(of);
    await startWorker("a", { ...harness.context, log: { ...harness.log, record } });
    await untilLookedAt(harness);
    expect(incidents).toEqual(["nightly is tried again: Redis is full"]);
  });

  it("a worker that has no schedules leaves those of others alone, though it started last", async (context) => {
    const { harness, incidents, startWorker } = setup(context);
    await startWorker("a");
    await untilLookedAt(harness);
    await startWorker("b", harness.context, []);
    harness.nowMs = Date.parse("2026-11-22T03:00:01Z");
    await untilDone(harness, 1);
    expect(incidents).toEqual([]);
  });

  it("of two workers with different tasks the one that started last acts alone, until it stops", async (context) => {
    const { harness, incidents, startWorker } = setup(context);
    const seen: string[] = [];
    await startWorker(
      "a",
      noting(harness, () => seen.push("a")),
    );
    await untilLookedAt(harness);
    const stopNewer = await startWorker(
      "b",
      noting(harness, () => seen.push("b")),
    );
    await until("the older one says so", () => incidents.length === 1);
    expect(incidents[0]).toContain("newer configuration (b)");
    harness.nowMs = Date.parse("2026-11-22T03:00:01Z");
    await untilDone(harness, 1);
    await stopNewer();
    harness.nowMs = Date.parse("2026-11-23T03:00:01Z");
    await untilDone(harness, 2);
    expect(seen).toEqual(["b", "a"]);
  });
});

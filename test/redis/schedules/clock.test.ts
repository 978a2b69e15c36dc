/** When a worker polls its schedules: when they are due, every few seconds, and at once after a request. */
import { expect, it } from "vitest";
import { systemClock } from "#core/time.ts";
import { WorkerRegistry } from "#engine/queue/worker-registry.ts";
import { parseCron } from "#fleet/time/cron.ts";
import type { Schedule } from "#fleet/schedule.ts";
import { pollSchedules, schedulesQueue } from "#jobs/schedules/clock.ts";
import { openTestRedis } from "../../support/redis.ts";
import { until } from "../../support/until.ts";

const { redis, keys } = openTestRedis();
const workerRegistry = new WorkerRegistry({ redis, keys });

const nightly: Schedule = {
  name: "nightly",
  profile: "default",
  cron: parseCron("0 3 * * *", "UTC"),
  task: { job: "sync", profile: "default" },
  jitterMs: 0,
  overlap: "skip",
  missed: "once",
  frozen: "skip",
};

/** Polls for as long as `use` takes, on a wall clock that the test may move. */
async function polling(
  poll: (atMs: number) => Promise<number>,
  use: (harness: {
    polls: number[];
    incidents: string[];
    request: () => void;
    /** Questions for requests since the last one was made. */
    asked: () => number;
    moveMs: (ms: number) => void;
  }) => Promise<void>,
): Promise<void> {
  let [aheadMs, made, questions] = [0, 0, 0];
  const clock = { ...systemClock, wallMs: () => systemClock.wallMs() + aheadMs };
  const polls: number[] = [];
  const incidents: string[] = [];
  const working = await pollSchedules(
    {
      schedules: [nightly],
      poll: () => {
        polls.push(clock.wallMs());
        return poll(clock.wallMs());
      },
      requests: () => {
        questions += 1;
        return Promise.resolve(made);
      },
      onIncident: ({ message }) => incidents.push(message),
    },
    { clock, workerRegistry },
  );
  try {
    await use({
      polls,
      incidents,
      request: () => void ([made, questions] = [made + 1, 0]),
      asked: () => questions,
      moveMs: (ms) => void (aheadMs += ms),
    });
  } finally {
    await working.stop();
  }
}

it("a schedule is polled when its poll asks for it, and registered while a worker polls it", async () => {
  await polling(
    (atMs) => Promise.resolve(atMs + 300),
    async ({ polls }) => {
      await until("it was polled three times", () => polls.length >= 3);
      expect(await workerRegistry.workers(schedulesQueue)).toHaveLength(1);
    },
  );
  expect(await workerRegistry.workers(schedulesQueue)).toEqual([]);
});

it("a schedule that waits for days is polled every ten seconds, and at once after a request", async () => {
  await polling(
    (atMs) => Promise.resolve(atMs + 86_400_000),
    async ({ polls, moveMs, request }) => {
      await until("it was polled", () => polls.length === 1);
      moveMs(10_001);
      await until("it was polled again", () => polls.length === 2);
      request();
      await until("it was polled for the request", () => polls.length === 3);
      // Its next poll was noted by a clock that was ahead.
      moveMs(-3_600_000);
      await until("it was polled by the right clock", () => polls.length === 4);
    },
  );
});

it("a request that comes during a poll is polled for after it", async () => {
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  await polling(
    async (atMs) => {
      await held;
      return atMs + 86_400_000;
    },
    async ({ polls, request, asked }) => {
      await until("the first poll has begun", () => polls.length === 1);
      request();
      await until("the request was seen during the poll", () => asked() >= 3);
      release();
      await until("it was polled again", () => polls.length === 2, 5_000);
    },
  );
});

it("a poll that fails is reported and repeated", async () => {
  await polling(
    () => Promise.reject(new Error("Redis is full")),
    async ({ polls, incidents, moveMs }) => {
      await until("it is reported", () => incidents.length === 1);
      moveMs(10_001);
      await until("it is tried again", () => polls.length === 2);
      expect(incidents[0]).toBe("the schedule nightly is tried again: Redis is full");
    },
  );
});

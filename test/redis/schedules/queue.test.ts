/** BullMQ's schedulers of schedules: what is set, removed, and set again after an outage. */
import { Queue } from "bullmq";
import { afterAll, expect, it } from "vitest";
import { systemClock } from "#core/time.ts";
import { parseCron } from "#fleet/time/cron.ts";
import type { Schedule } from "#fleet/schedule.ts";
import { WorkerRegistry } from "#engine/queue/worker-registry.ts";
import { scheduleQueue } from "#jobs/schedules/queue.ts";
import { openTestRedis } from "../../support/redis.ts";
import { until } from "../../support/until.ts";

const { redis, keys, connect } = openTestRedis();
const seen = new Queue("schedules", { connection: redis, prefix: keys.queues() });
afterAll(() => seen.close());

function schedule(name: string, cron: string, timezone = "UTC"): Schedule {
  return {
    name,
    profile: "default",
    cron: parseCron(cron, timezone),
    task: {
      job: "sync",
      profile: "default",
    },
    jitterMs: 0,
    overlap: "skip",
    missed: "once",
    frozen: "skip",
  };
}

/** Works on schedules for as long as `use` takes, on a wall clock that the test may move. */
async function consuming(
  schedules: readonly Schedule[],
  use: (harness: { looked: string[]; late: string[]; moveMs: (ms: number) => void }) => Promise<void>,
): Promise<void> {
  let aheadMs = 0;
  const clock = { ...systemClock, wallMs: () => systemClock.wallMs() + aheadMs };
  const looked: string[] = [];
  const late: string[] = [];
  const queue = scheduleQueue({ connect, keys, workerRegistry: new WorkerRegistry({ redis, keys }), clock });
  const working = await queue.consume({
    schedules,
    poll: ({ name }) => {
      looked.push(name);
      return Promise.resolve(Number.POSITIVE_INFINITY);
    },
    onLate: ({ name }) => Promise.resolve(void late.push(name)),
    onIncident: ({ message }) => late.push(message),
  });
  try {
    await use({ looked, late, moveMs: (ms) => void (aheadMs += ms) });
  } finally {
    await working.stop();
    await queue.close();
  }
}

const set = async (): Promise<Record<string, string | undefined>> =>
  Object.fromEntries((await seen.getJobSchedulers()).map(({ key, pattern, tz }) => [key, `${pattern} ${tz}`]));

it("the schedule queue contains exactly the current schedules of the configuration after each start", async () => {
  await consuming([schedule("a", "0 3 * * *"), schedule("b", "0 4 * * *", "Asia/Tokyo")], async () => {
    expect(await set()).toEqual({ a: "0 3 * * * UTC", b: "0 4 * * * Asia/Tokyo" });
  });
  await consuming([schedule("a", "30 3 * * *")], async () => {
    expect(await set()).toEqual({ a: "30 3 * * * UTC" });
    const next = (await seen.getJobScheduler("a"))?.next ?? 0;
    expect(new Date(next).toISOString()).toMatch(/T03:30:00/);
  });
});

it("without schedules the schedulers of former ones are removed, also those that another worker sets again", async () => {
  await seen.upsertJobScheduler("former", { pattern: "0 3 * * *", tz: "UTC" });
  await consuming([], async ({ moveMs }) => {
    expect(await set()).toEqual({});
    await seen.upsertJobScheduler("former", { pattern: "0 3 * * *", tz: "UTC" });
    moveMs(11_000);
    await until("it is removed again", async () => Object.keys(await set()).length === 0);
  });
});

it("the schedule queue wakes a process at each scheduled time", async () => {
  await consuming([schedule("often", "* * * * * *")], async ({ looked }) => {
    // Its own polls are ten seconds apart: these come from the queue.
    await until("it was woken three times", () => looked.filter((name) => name === "often").length >= 4);
  });
});

it("the schedule queue resets a schedule whose next time is in the past and reports it", async () => {
  const wanted = schedule("a", "30 3 * * *");
  await consuming([wanted], async ({ late, moveMs }) => {
    // As after an outage that the job of the next time did not survive.
    const job = `repeat:a:${(await seen.getJobScheduler("a"))?.next}`;
    expect(await redis.zrem(`${keys.queues()}:schedules:delayed`, job)).toBe(1);
    await redis.del(`${keys.queues()}:schedules:${job}`);
    const pastMs = systemClock.wallMs() - 3_600_000;
    await redis.zadd(`${keys.queues()}:schedules:repeat`, pastMs, "a");
    expect((await seen.getJobScheduler("a"))?.next).toBe(pastMs);
    moveMs(11_000);
    await until("it was reported", () => late.includes("a"));
    await until("it is set again", async () => ((await seen.getJobScheduler("a"))?.next ?? 0) > systemClock.wallMs());
    expect(late).toEqual(["a"]);
  });
});

/** Tasks without a record of their own, such as reading the usage, with several workers. */
import { expect, it } from "vitest";
import type { Task } from "#fleet/task.ts";
import { openTestRedis } from "../../support/redis.ts";
import { ScheduleDeps } from "./schedule-harness.ts";

const { redis, keys } = openTestRedis();
const usage: Task = { job: "usage", profile: "default" };
const dueMs = Date.parse("2026-11-22T03:00:00Z");

/** A schedule that is due, whose first reading a worker has begun. A reading is over when the test says so. */
async function setup(cron = "0 3 * * *") {
  const missed = { within: "5m", withinMs: 300_000 };
  const harness = new ScheduleDeps({ redis, keys }, "2026-11-22T02:59:00Z", { cron, task: usage, missed });
  const begun: PromiseWithResolvers<string>[] = [];
  const begin = (): Promise<string> => (begun[begun.length] = Promise.withResolvers<string>()).promise;
  const tasks = Object.assign(Object.create(harness.tasks), { begin });
  const poll = () => harness.poll({ ...harness.context, tasks });
  await poll();
  harness.nowMs = dueMs;
  const first = poll();
  await expect.poll(() => begun).toHaveLength(1);
  return { harness, begun, poll, first };
}

it("one of two workers reads the usage, and the other waits for its end", async () => {
  const { harness, begun, poll, first } = await setup();
  expect(await poll()).toBe(harness.nowMs + 1_000);
  harness.nowMs += 600_000;
  expect(await poll()).toBe(harness.nowMs + 1_000);
  begun[0]?.resolve("40 SIMs with usage");
  await first;
  await poll();
  expect(begun).toHaveLength(1);
  const { last } = await harness.record();
  expect(last).toMatchObject({ result: "done", reason: "40 SIMs with usage", finishedAtMs: harness.nowMs });
});

it("a reading that lasts beyond the next time of its schedule is noted, and not made again", async () => {
  const { harness, begun, poll, first } = await setup("*/5 * * * *");
  harness.nowMs = dueMs + 300_000;
  await poll();
  begun[0]?.resolve("40 SIMs with usage");
  await first;
  await poll();
  expect(begun).toHaveLength(1);
  expect((await harness.record()).last).toMatchObject({ result: "done", dueMs });
  expect(await harness.reported()).toEqual(["schedule.skipped", "schedule.completed"]);
});

it("a worker whose attempt failed leaves the next one to any", async () => {
  const { harness, begun, poll, first } = await setup();
  begun[0]?.reject(new Error("Redis is out of memory"));
  await first;
  harness.nowMs += 60_000;
  const second = poll();
  await expect.poll(() => begun).toHaveLength(2);
  begun[1]?.resolve("0 SIMs with usage");
  await second;
});

/** Tasks without a record of their own, such as reading the usage, with several workers. */
import { expect, it } from "vitest";
import type { Task } from "#fleet/task.ts";
import { openTestRedis } from "../../support/redis.ts";
import { ScheduleDeps } from "./schedule-harness.ts";

const { redis, keys } = openTestRedis();
const usage: Task = { job: "usage", profile: "default" };

/** A schedule whose task may start within five minutes; the tasks of its workers are over when the test says so. */
function setup() {
  const missed = { within: "5m", withinMs: 300_000 };
  const harness = new ScheduleDeps({ redis, keys }, "2026-11-22T02:30:00Z", { cron: "0 3 * * *", task: usage, missed });
  const begun: PromiseWithResolvers<string>[] = [];
  const begin = (): Promise<string> => {
    const task = Promise.withResolvers<string>();
    begun.push(task);
    return task.promise;
  };
  const poll = () =>
    harness.poll({ ...harness.context, tasks: Object.assign(Object.create(harness.tasks), { begin }) });
  return { harness, begun, poll };
}

it("one of two workers reads the usage, and the other waits for its end", async () => {
  const { harness, begun, poll } = setup();
  await poll();
  harness.nowMs = Date.parse("2026-11-22T03:00:00Z");
  const first = poll();
  await expect.poll(() => begun).toHaveLength(1);
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

it("a worker whose attempt failed leaves the next one to any", async () => {
  const { harness, begun, poll } = setup();
  await poll();
  harness.nowMs = Date.parse("2026-11-22T03:00:00Z");
  const first = poll();
  await expect.poll(() => begun).toHaveLength(1);
  begun[0]?.reject(new Error("Redis is out of memory"));
  await first;
  harness.nowMs += 60_000;
  const second = poll();
  await expect.poll(() => begun).toHaveLength(2);
  begun[1]?.resolve("0 SIMs with usage");
  await second;
});

/** A consumer whose connections hang takes work again with new ones. */
import { randomUUID } from "node:crypto";
import type { Redis } from "ioredis";
import { expect, it, onTestFinished, vi } from "vitest";
import { systemClock } from "#core/time.ts";
import { workQueues } from "#engine/queue/work-queues.ts";
import { openWorkerRegistry } from "#engine/queue/worker-registry.ts";
import { isLong } from "../../support/long.ts";
import { openTestRedis } from "../../support/redis.ts";
import { until } from "../../support/until.ts";

const { redis, keys, connect, lifecycle } = openTestRedis();

/** A consumer, its connections, the jobs that it has begun, and a way to add one; those below 0 end with the test. */
async function setup(atOnce = 1) {
  const connections: Redis[] = [];
  const open = (name: string): Redis => {
    const connection = connect();
    if (name.startsWith("worker-")) connections.push(connection);
    return connection;
  };
  const bucket = randomUUID();
  const queues = workQueues<{ n: number }>(
    { nameOf: (key) => `stuck-${key}` },
    { redis, connect: open, keys, workerRegistry: openWorkerRegistry({ redis, keys }), clock: systemClock, lifecycle },
  );
  const done: number[] = [];
  const held = Promise.withResolvers<{ kind: "ended" }>();
  const work = ({ n }: { n: number }) => {
    done.push(n);
    return n < 0 ? held.promise : Promise.resolve({ kind: "ended" } as const);
  };
  const others = { restore: () => undefined, onIncident: () => undefined };
  const working = await queues.consume(bucket, { atOnce, work, ...others });
  onTestFinished(() => working.stop());
  onTestFinished(() => held.resolve({ kind: "ended" }));
  const add = async (n: number): Promise<unknown> => (await queues.queue(bucket)).add("job", { n });
  return { working, done, add, connections };
}

/** Its commands are never sent, and nothing is closed, as after a network that swallows packets. */
function swallow([worker]: readonly Redis[]) {
  if (worker === undefined) throw new Error("the consumer has no connection");
  return vi.spyOn(worker, "sendCommand").mockReturnValue(new Promise(() => undefined));
}

it("a consumer whose connection no longer takes jobs starts waiting work after a restart", async () => {
  const { working, done, add, connections } = await setup();
  await add(1);
  await until("the first job is done", () => done.length === 1);
  const swallowing = swallow(connections);
  await add(2);
  await working.restart();
  await until("the second job is done", () => done.includes(2));
  expect(await working.isMoving(60_000)).toBe(true);
  swallowing.mockRestore();
});

it("a consumer with room that does not start waiting work is not moving, whatever else it does", async () => {
  const { working, done, add, connections } = await setup(2);
  await add(-1);
  await until("it works", () => done.length === 1);
  expect(await working.isMoving(0)).toBe(true);
  const swallowing = swallow(connections);
  await add(1);
  await until("it is noticed", async () => !(await working.isMoving(0)));
  swallowing.mockRestore();
  await working.restart();
  await until("it works again", () => done.includes(1));
});

it.runIf(isLong)("a stop ends after 15 s, though a piece of work never does", async () => {
  const { working, done, add } = await setup();
  await add(-1);
  await until("it works", () => done.length === 1);
  const startedMs = performance.now();
  await working.stop();
  expect(performance.now() - startedMs).toBeLessThan(20_000);
});

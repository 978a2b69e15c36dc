/** A consumer whose connections hang takes work again with new ones. */
import type { Redis } from "ioredis";
import { expect, it, onTestFinished, vi } from "vitest";
import { systemClock } from "#core/time.ts";
import { workQueues } from "#engine/queue/work-queues.ts";
import { openWorkerRegistry } from "#engine/queue/worker-registry.ts";
import { openTestRedis } from "../../support/redis.ts";
import { until } from "../../support/until.ts";

const { redis, keys, connect, lifecycle } = openTestRedis();

/** A consumer, its connections, the jobs that it has done, and a way to add one. */
async function setup() {
  const connections: Redis[] = [];
  const open = (name: string): Redis => {
    const connection = connect();
    if (name.startsWith("worker-")) connections.push(connection);
    return connection;
  };
  const queues = workQueues<{ n: number }>(
    { nameOf: (key) => `stuck-${key}` },
    { redis, connect: open, keys, workerRegistry: openWorkerRegistry({ redis, keys }), clock: systemClock, lifecycle },
  );
  const done: number[] = [];
  const work = ({ n }: { n: number }) => {
    done.push(n);
    return Promise.resolve({ kind: "ended" } as const);
  };
  const others = { restore: () => undefined, onIncident: () => undefined };
  const working = await queues.consume("a", { atOnce: 1, work, ...others });
  onTestFinished(() => working.stop());
  const add = async (n: number): Promise<unknown> => (await queues.queue("a")).add("job", { n });
  return { working, done, add, connections };
}

it("a consumer whose connection no longer takes jobs starts waiting work after a restart", async () => {
  const { working, done, add, connections } = await setup();
  await add(1);
  await until("the first job is done", () => done.length === 1);
  // Its commands are never sent, and nothing is closed, as after a network that swallows packets.
  const [worker] = connections;
  if (worker === undefined) throw new Error("the consumer has no connection");
  const swallowing = vi.spyOn(worker, "sendCommand").mockReturnValue(new Promise(() => undefined));
  await add(2);
  await working.restart();
  await until("the second job is done", () => done.includes(2));
  expect(await working.isMoving(60_000)).toBe(true);
  swallowing.mockRestore();
});

/** A consumer whose connections hang takes work again with new ones. */
import type { Redis } from "ioredis";
import { expect, it, onTestFinished, vi } from "vitest";
import { systemClock } from "#core/time.ts";
import { workQueues } from "#engine/queue/work-queues.ts";
import { openWorkerRegistry } from "#engine/queue/worker-registry.ts";
import { openTestRedis } from "../../support/redis.ts";
import { until } from "../../support/until.ts";

const { redis, keys, connect, lifecycle } = openTestRedis();

it("a consumer whose connection no longer takes jobs starts waiting work after a restart", async () => {
  const connections: Redis[] = [];
  const open = (name: string): Redis => {
    const connection = connect();
    if (name.startsWith("worker-")) connections.push(connection);
    return connection;
  };
  const queues = workQueues<{ n: number }>(
    { connection: "queues", nameOf: (key) => `stuck-${key}` },
    { connect: open, keys, workerRegistry: openWorkerRegistry({ redis, keys }), clock: systemClock, lifecycle },
  );
  const done: number[] = [];
  const working = await queues.consume("a", {
    atOnce: 1,
    work: ({ n }) => {
      done.push(n);
      return Promise.resolve({ kind: "ended" });
    },
    restore: () => undefined,
    onIncident: () => undefined,
  });
  onTestFinished(() => working.stop());
  await (await queues.queue("a")).add("job", { n: 1 });
  await until("the first job is done", () => done.length === 1);
  // Its commands are never sent, and nothing is closed, as after a network that swallows packets.
  const [worker] = connections;
  if (worker === undefined) throw new Error("the consumer has no connection");
  const swallowing = vi.spyOn(worker, "sendCommand").mockReturnValue(new Promise(() => undefined));
  await (await queues.queue("a")).add("job", { n: 2 });
  await working.restart();
  await until("the second job is done", () => done.includes(2));
  expect(await working.isMoving(60_000)).toBe(true);
  swallowing.mockRestore();
});

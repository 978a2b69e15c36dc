/** The registry of workers and queues works without scanning the keys of Redis. */
import { expect, it } from "vitest";
import { systemClock } from "#core/time.ts";
import { queueDepths, workQueues } from "#engine/queue/work-queues.ts";
import { openWorkerRegistry } from "#engine/queue/worker-registry.ts";
import { commandsOf } from "../../support/commands.ts";
import { openTestRedis } from "../../support/redis.ts";
import { until } from "../../support/until.ts";

const { redis, keys, connect, lifecycle } = openTestRedis();
const workerRegistry = openWorkerRegistry({ redis, keys });

it("a worker counts from its announcement until it leaves and only for its own queue", async () => {
  const leave = await workerRegistry.announce("calls-a", "w-1");
  await workerRegistry.announce("calls-b", "w-2");
  expect(await workerRegistry.workers("calls-a")).toEqual(["w-1"]);
  await leave();
  expect(await workerRegistry.workers("calls-a")).toEqual([]);
  expect(await workerRegistry.workers("calls-b")).toEqual(["w-2"]);
});

it("all entries of a process are renewed, and one that left is not", async () => {
  const leave = await workerRegistry.announce("calls-e", "w-1");
  await workerRegistry.announce("calls-f", "w-2");
  const expiry = async (queue: string, worker: string): Promise<number> =>
    Number(await redis.zscore(keys.liveWorkers(queue), worker));
  const before = [await expiry("calls-e", "w-1"), await expiry("calls-f", "w-2")] as const;
  await until("both entries are renewed", async () => {
    const after = [await expiry("calls-e", "w-1"), await expiry("calls-f", "w-2")] as const;
    return after[0] > before[0] && after[1] > before[1];
  });
  await leave();
  const then = await expiry("calls-f", "w-2");
  await until("the other entry is renewed", async () => (await expiry("calls-f", "w-2")) > then);
  expect(await workerRegistry.workers("calls-e")).toEqual([]);
});

it("a killed worker no longer counts once its entry expires", async () => {
  await redis.zadd(keys.liveWorkers("calls-c"), 1, "w-killed");
  expect(await workerRegistry.workers("calls-c")).toEqual([]);
});

it("workers and queues are found without scanning Redis", async () => {
  const own = connect();
  const commands = commandsOf(own);
  const ownRegistry = openWorkerRegistry({ redis: own, keys });
  const deps = { redis: own, connect: () => own, keys, workerRegistry: ownRegistry, clock: systemClock, lifecycle };
  const queues = workQueues({ nameOf: (key) => key }, deps);
  await (await queues.queue("calls-d")).add("job", {});
  const depths = queueDepths(deps);
  expect(await ownRegistry.workers("calls-d")).toEqual([]);
  const labels = { queue: "calls-d", state: "waiting" };
  expect(await depths()).toContainEqual({ metric: "jobs", value: 1, labels });
  expect(commands).not.toContain("scan");
  expect(commands).not.toContain("keys");
});

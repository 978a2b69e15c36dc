/** Jobs that live as long as an entry of the configuration. */
import { expect, it, onTestFinished } from "vitest";
import { systemClock } from "#core/time.ts";
import { namedJobs } from "#engine/queue/named-jobs.ts";
import { workQueues } from "#engine/queue/work-queues.ts";
import { openWorkerRegistry } from "#engine/queue/worker-registry.ts";
import { keysWithin, openTestRedis } from "../../support/redis.ts";
import { until } from "../../support/until.ts";

const { redis, keys, connect, lifecycle } = openTestRedis();

/** Workers with entries of their own, and the names that each has worked on. */
function setup() {
  const own = keysWithin(keys);
  const deps = { redis, connect, keys: own, clock: systemClock, lifecycle };
  const workerRegistry = openWorkerRegistry({ redis, keys: own });
  const startWorker = async (...names: string[]) => {
    const done: string[] = [];
    const jobs = namedJobs("looks", { ...deps, workerRegistry });
    const [worker] = await jobs.consumeAll(
      names.map((name) => ({ name })),
      {
        work: ({ name }) => {
          done.push(name);
          return Promise.resolve({ kind: "postponed", delayMs: 50, scope: "job", reason: "the next look" });
        },
        status: () => Promise.resolve("waiting"),
        onIncident: () => undefined,
      },
    );
    onTestFinished(() => worker?.stop());
    return { done, stop: async () => worker?.stop() };
  };
  const jobsLeft = async (): Promise<number> => {
    const queues = workQueues({ nameOf: (key) => key }, { ...deps, workerRegistry });
    return (await queues.queue("looks")).count();
  };
  const enqueueAt = (queue: string) =>
    namedJobs("looks", { ...deps, workerRegistry }, { queueOf: () => queue }).enqueue("a");
  const queueNames = () => redis.smembers(own.queueNames());
  return { startWorker, jobsLeft, enqueueAt, queueNames };
}

it("workers with different entries work on their own, whoever takes a job first", async () => {
  const { startWorker } = setup();
  const [a, b] = [await startWorker("a", "both"), await startWorker("b", "both")];
  await until("each has worked on its own again and again", () => a.done.length > 20 && b.done.length > 20);
  expect(a.done).toContain("a");
  expect(b.done).toContain("b");
  expect([a.done.includes("b"), b.done.includes("a")]).toEqual([false, false]);
});

it("jobs of entries that are no longer configured are removed", async () => {
  const { startWorker, jobsLeft } = setup();
  const { done, stop } = await startWorker("a", "b");
  await until("both are worked on", () => done.includes("a") && done.includes("b"));
  await stop();
  expect(await jobsLeft()).toBe(2);
  const { done: later, stop: stopLater } = await startWorker("a");
  await until("it has found the other", async () => later.length > 1 && (await jobsLeft()) <= 1);
  await stopLater();
  await startWorker();
  expect(await jobsLeft()).toBe(0);
});

it("the queue of a machine that is gone is removed when the next worker starts", async () => {
  const { startWorker, enqueueAt, queueNames } = setup();
  await enqueueAt("looks-gone");
  expect(await queueNames()).toEqual(["looks-gone"]);
  await startWorker("a");
  await until("its own queue is known", async () => (await queueNames()).includes("looks"));
  expect(await queueNames()).toEqual(["looks"]);
});

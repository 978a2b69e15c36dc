/** The queue of work that waits for hours: new work does not wait with it. */
import { expect, it, onTestFinished } from "vitest";
import { systemClock } from "#core/time.ts";
import type { WorkResult } from "#engine/queue/job-result.ts";
import { profileJobs } from "#engine/queue/named-jobs.ts";
import { openWorkerRegistry } from "#engine/queue/worker-registry.ts";
import { openTestRedis } from "../../support/redis.ts";
import { until } from "../../support/until.ts";

const place = openTestRedis();

/** The queue of rotations, and a consumer that looks at them and finds that they wait. */
function setup() {
  const { redis, connect, keys, lifecycle } = place;
  const workerRegistry = openWorkerRegistry(place);
  const collaborators = { redis, connect: () => connect(), keys, workerRegistry, clock: systemClock, lifecycle };
  const queues = profileJobs("rotations", collaborators);
  const found = { looks: 0, status: "waiting" as "waiting" | "due", incidents: [] as string[] };
  const work = (): Promise<WorkResult> => {
    found.looks += 1;
    found.status = "waiting";
    return Promise.resolve({ kind: "postponed", delayMs: 3_600_000, scope: "job", reason: "grace" });
  };
  const consume = async (): Promise<void> => {
    const status = () => Promise.resolve(found.status);
    const working = await queues.consumeOne(
      { name: "a" },
      {
        work,
        status,
        onIncident: ({ message }) => found.incidents.push(message),
      },
    );
    onTestFinished(() => working.stop());
  };
  return { queues, found, consume };
}

it("the rotation queue runs when a user asks or a step is due, and not before", async () => {
  const { queues, found, consume } = setup();
  expect(await queues.isServed("a")).toBe(false);
  await consume();
  await until("the first look", () => found.looks === 1);
  expect(await queues.isServed("a")).toBe(true);
  await queues.enqueue("a");
  await queues.enqueue("a", "now");
  await until("the look that was asked for", () => found.looks === 2);
  found.status = "due";
  await until("the look that was due", () => found.looks === 3);
  expect(found.incidents).toEqual([]);
});

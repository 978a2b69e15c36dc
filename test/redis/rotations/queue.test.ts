/** The queue of work that waits for hours: new work does not wait with it. */
import { expect, it, onTestFinished } from "vitest";
import { systemClock } from "#core/time.ts";
import type { WorkResult } from "#engine/queue/job-result.ts";
import { profileJobs } from "#engine/queue/work-queues.ts";
import { openWorkerRegistry } from "#engine/queue/worker-registry.ts";
import { openTestRedis } from "../../support/redis.ts";
import { until } from "../../support/until.ts";

const place = openTestRedis();

it("the rotation queue runs when a user asks or a step is due, and not before", async () => {
  const workerRegistry = openWorkerRegistry(place);
  const queues = profileJobs("rotations", "the-rotations", {
    connect: () => place.connect(),
    keys: place.keys,
    workerRegistry,
    clock: systemClock,
    lifecycle: place.lifecycle,
  });
  const looks: string[] = [];
  let stands: "waiting" | "due" = "waiting";
  const work = (profile: string): Promise<WorkResult> => {
    looks.push(profile);
    stands = "waiting";
    return Promise.resolve({ kind: "postponed", delayMs: 3_600_000, scope: "job", reason: "grace" });
  };
  expect(await queues.isServed("a")).toBe(false);
  const incidents: string[] = [];
  const working = await queues.consume("a", {
    work,
    status: () => Promise.resolve(stands),
    onIncident: ({ message }) => incidents.push(message),
  });
  onTestFinished(() => working.stop());
  await until("the first look", () => looks.length === 1);
  expect(await queues.isServed("a")).toBe(true);
  await queues.enqueue("a");
  await queues.enqueue("a", "now");
  await until("the look that was asked for", () => looks.length === 2);
  stands = "due";
  await until("the look that was due", () => looks.length === 3);
  expect(incidents).toEqual([]);
});

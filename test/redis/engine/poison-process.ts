/**
 * A process that works on something of a feature, and dies in the middle of it.
 *   node poison-process.ts REDIS_URL PREFIX FEATURE FOLDER
 */
import { systemClock } from "#core/time.ts";
import type { Event } from "#events/event.ts";
import { Feed } from "#events/feed.ts";
import { everySim } from "#fleet/filter.ts";
import { setSpeedClass } from "#fleet/sim-operation/sim-operation.ts";
import { parseCron } from "#fleet/time/cron.ts";
import { PoisonGuard } from "#engine/poison-guard.ts";
import { WorkerRegistry } from "#engine/queue/worker-registry.ts";
import { actOn } from "#jobs/automations/work.ts";
import { automationLog } from "#jobs/automations/record.ts";
import { DropFolderWork } from "#jobs/drop-folder/work.ts";
import { workOnSchedule } from "#jobs/schedules/work.ts";
import { scheduleLog } from "#jobs/schedules/record.ts";
import type { AutomationTasks } from "#jobs/tasks/tasks.ts";
import { deliverEvent } from "#jobs/webhooks/work.ts";
import { DeliveryLog } from "#jobs/webhooks/delivery-log.ts";
import { RedisConnections } from "#redis/connection.ts";
import { Keys } from "#redis/keys.ts";
import { redisTarget } from "../../support/redis-target.ts";
import { keptBounds } from "../ledger/run-of.ts";
import { webhookOf } from "../webhooks/delivery-harness.ts";

const [redisUrl = "", prefix = "", feature = "", path = ""] = process.argv.slice(2);
const connections = new RedisConnections(redisTarget(redisUrl));
const redis = connections.connect("poison");
const keys = new Keys(prefix);
const clock = systemClock;
const storeDeps = { redis, keys, bounds: keptBounds, clock };
const feed = new Feed(storeDeps);
const workerRegistry = new WorkerRegistry({ redis, keys });
const guard = new PoisonGuard({ redis, keys, workerRegistry, onSetAside: (message) => console.log(message) });
const { signal } = new AbortController();
const task = { job: "sync", profile: "default" } as const;

function die(): never {
  process.kill(process.pid, "SIGKILL");
  throw new Error("this process is dead");
}

const tasks: AutomationTasks = {
  begin: die,
  changeSims: die,
  runIdFor: (key) => `r-${key}`,
  status: () => Promise.resolve({ isOver: false }),
  cancel: () => Promise.resolve(),
};

const works: Readonly<Record<string, () => Promise<unknown>>> = {
  schedule: () =>
    workOnSchedule(
      {
        name: "nightly",
        profile: "default",
        task,
        jitterMs: 0,
        overlap: "skip",
        missed: "once",
        frozen: "skip",
        cron: parseCron("0 3 * * *", "UTC"),
      },
      { log: scheduleLog(storeDeps), clock, guard, tasks, freezeOf: () => Promise.resolve(undefined) },
      signal,
    ),
  delivery: async () => {
    const log = new DeliveryLog(storeDeps);
    const [{ event } = { event: undefined }] = await log.newest("ops", { limit: 1 });
    const endpointOf = () => ({ webhook: webhookOf("ops"), url: "https://ops.example/", secrets: [] });
    const context = { log, clock, guard, sender: { send: die }, endpointOf };
    return deliverEvent({ webhook: "ops", eventId: event?.id ?? "" }, context, signal);
  },
  automation: () => {
    const event: Event = {
      id: "1790000000000-1",
      type: "sync.completed",
      atMs: 179e10,
      profile: "default",
      fields: {},
    };
    return actOn(
      { name: "syncs", profile: "default", on: ["sync.completed"], action: task, condition: everySim, maxPerHour: 9 },
      [event],
      {
        log: automationLog(storeDeps),
        clock,
        guard,
        tasks,
        inventory: { lookUp: () => Promise.resolve([]) },
        keyColumnOf: () => "simId",
        operationOf: () => setSpeedClass,
      },
    );
  },
  file: async () => {
    const work = new DropFolderWork({
      folder: {
        path,
        profile: "default",
        operation: "set-speed-class",
        set: {},
        name: undefined,
        options: {
          partial: false,
          skipUnchanged: false,
        },
        settleMs: 1,
      },
      runs: {
        newRunId: () => "r-20261122-030000-abcd1234",
        submit: die,
        status: () => Promise.resolve(undefined),
        results: die,
      },
      feed,
      clock,
      guard,
      onIncident: (message: string) => console.error(message),
    });
    for (let round = 0; round < 4; round += 1) {
      await work.round(signal);
      await clock.sleep(5);
    }
  },
};

await works[feature]?.();
await guard.close();
await connections.close();

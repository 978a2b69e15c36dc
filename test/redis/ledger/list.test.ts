/** How many commands a long list of runs takes. */
import { runRemoval } from "#jobs/runs/removal/removal.ts";
import { expect, it } from "vitest";
import { systemClock } from "#core/time.ts";
import { Limiter } from "#limiter/limiter.ts";
import { WorkerRegistry } from "#engine/queue/worker-registry.ts";
import { runQueues } from "#jobs/runs/work/queue.ts";
import { RunService } from "#jobs/runs/service.ts";
import { Inventory } from "#jobs/inventory/store/inventory.ts";
import { Ledger } from "#jobs/runs/ledger/ledger.ts";
import { commandsOf } from "../../support/commands.ts";
import { openTestRedis } from "../../support/redis.ts";
import { keptBounds, memory, noPolicy, operations, sealInputs, submit } from "./run-of.ts";

const { keys, connect } = openTestRedis();

it("listing 515 runs takes one script call per hundred runs and one per quota", async () => {
  const redis = connect();
  const storeDeps = { redis, keys, bounds: keptBounds, clock: systemClock };
  const ledger = new Ledger(storeDeps);
  for (let n = 0; n < 515; n += 1) {
    await submit(ledger, [[1]], { bucket: n % 2 === 0 ? "default.Sim" : "other.Sim", createdAtMs: n });
  }
  const workerRegistry = new WorkerRegistry({ redis, keys });
  const runs = new RunService({
    ledger,
    inventory: new Inventory(storeDeps),
    queues: runQueues({
      connect,
      keys,
      ledger,
      clock: systemClock,
      workerRegistry,
    }),
    clock: systemClock,
    limiter: new Limiter({
      redis,
      keys,
    }),
    workerRegistry,
    periodMs: 6e4,
    wordingOf: () => "sims",
    speedClasses: [],
    policy: noPolicy,
    operations,
    sealInputs,
    memory,
    runRemoval: runRemoval({
      ...storeDeps,
      clock: systemClock,
    }),
  });
  await runs.list({ limit: 1 }); // loads the scripts, whose first use takes two commands
  const commands = commandsOf(redis);
  const page = await runs.list({ limit: 515 });
  expect(page.runs).toHaveLength(515);
  expect(page.runs.map(({ counts }) => counts.total)).toEqual(Array.from({ length: 515 }, () => 1));
  expect(commands.filter((name) => name.startsWith("eval")).length).toBeLessThanOrEqual(6 + 2 * 2);
});

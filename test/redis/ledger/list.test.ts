/** How many commands a long list of runs takes. */
import { expect, it } from "vitest";
import { Limiter } from "#limiter/limiter.ts";
import { openWorkerRegistry } from "#engine/queue/worker-registry.ts";
import { runKeys } from "#jobs/runs/ledger/keys.ts";
import { commandsOf } from "../../support/commands.ts";
import { openTestRedis } from "../../support/redis.ts";
import { submit } from "./run-of.ts";
import { runServiceOn } from "./run-service.ts";

const { keys, connect } = openTestRedis();

it("listing 515 runs takes one script call per hundred runs and one per quota", async () => {
  const redis = connect();
  const workerRegistry = openWorkerRegistry({ redis, keys });
  const limiter = new Limiter({ redis, keys });
  const { runs, ledger } = runServiceOn({ redis, keys }, { limiter, workerRegistry });
  for (let n = 0; n < 515; n += 1) {
    await submit(ledger, [[1]], { bucket: n % 2 === 0 ? "default.Sim" : "other.Sim", createdAtMs: n });
  }
  await runs.list({ limit: 1 }); // loads the scripts, whose first use takes two commands
  const commands = commandsOf(redis);
  const page = await runs.list({ limit: 515 });
  expect(page.runs).toHaveLength(515);
  expect(page.runs.map(({ counts }) => counts.total)).toEqual(Array.from({ length: 515 }, () => 1));
  expect(commands.filter((name) => name.startsWith("eval")).length).toBeLessThanOrEqual(6 + 2 * 2);
});

it("a running run is found again, however many have come after it", async () => {
  const redis = connect();
  const { ledger } = runServiceOn({ redis, keys });
  const old = await submit(ledger, [[1]], { createdAtMs: 1 });
  const later = Array.from({ length: 1_000 }, (_, n) => [2_000 + n, `r-later-${n}`]);
  await redis.zadd(runKeys(keys).runs(), ...later.flat());
  expect((await ledger.running()).map(({ runId }) => runId)).toContain(old.runId);
});

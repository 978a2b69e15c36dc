/** A clock of Redis that is set while runs are in progress, as after a failover to a server whose clock is behind. */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { test } from "vitest";
import { isLong } from "../support/long.ts";
import { until } from "../support/until.ts";
import { CliHarness } from "./support/cli-harness.ts";
import { freePort, startRedis } from "./support/redis-server.ts";
import { unless } from "../support/left-out.ts";

const daySeconds = 86_400;
const repairMs = 60_000;
const canCompile = (() => {
  try {
    return execFileSync("gcc", ["--version"]).length > 0;
  } catch {
    return false;
  }
})();

/** Starts Redis under a clock of its own. */
async function redisWithClock(harness: CliHarness) {
  const library = harness.path("moved-clock.so");
  const source = fileURLToPath(new URL("./support/moved-clock.c", import.meta.url));
  execFileSync("gcc", ["-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"]);
  const offset = harness.path("clock-offset");
  const setClock = (seconds: number): void => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(BigInt(seconds));
    // In place: the server has mapped the file.
    writeFileSync(offset, bytes, { flag: "r+" });
  };
  writeFileSync(offset, Buffer.alloc(8));
  const port = await freePort();
  const redis = await startRedis(harness, port, ["--port", String(port)], {
    env: { LD_PRELOAD: library, CLOCK_OFFSET_FILE: offset },
  });
  return { redis, setClock };
}

// The keys expire in their own time, so it takes longer than other tests.
test.runIf(isLong && canCompile)(
  `runs end after the clock of Redis was set back a day under load, and forward again${unless(canCompile, "no gcc here")}`,
  { timeout: 600_000 },
  async () => {
    await using harness = await CliHarness.open({ sims: 400, limits: { Sim: 100 }, latencyMs: [20, 60] });
    const { redis, setClock } = await redisWithClock(harness);
    await using _ = redis;
    const env = { SIMFLEET_REDIS_URL: redis.url };
    const submit = async (): Promise<string> => {
      const file = await harness.fleet("fleet.csv", 400);
      return (await harness.json(["apply", file, "--yes", "--detach", "--send-unchanged"], env)).document.runId;
    };
    const untilCompleted = (runId: string): Promise<void> =>
      until(
        `${runId} is completed`,
        async () => (await harness.json(["runs", "show", runId], env)).document.state === "completed",
        repairMs,
      );
    const killed = await harness.worker(env);
    const first = await submit();
    await harness.untilChanges(100);
    // Its locks are left behind, and expire by the clock that is set now.
    killed.kill("SIGKILL");
    await killed.ended;
    setClock(-daySeconds);
    await harness.worker(env);
    await untilCompleted(first);
    const second = await submit();
    await harness.untilChanges(500);
    setClock(0);
    await untilCompleted(second);
  },
);

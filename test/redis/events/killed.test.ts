/**
 * A change and its event always exist together: after a kill -9 of a worker, and after one of Redis itself with the end
 * of its file lost.
 */
import type { ChildProcess } from "node:child_process";
import { readdirSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { redisConnections } from "#redis/connection.ts";
import { Keys } from "#redis/keys.ts";
import { seededRandom } from "#sandbox/seeded.ts";
import { forEachSeed, seeds } from "../../support/long.ts";
import { openTestRedis, redisUrl } from "../../support/redis.ts";
import { kill, startScript } from "../../support/script.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { RunningProcess } from "../../e2e/support/process.ts";
import { redisOnPort } from "../../e2e/support/redis-server.ts";
import { RunEvents } from "./run-events.ts";
import { redisTarget } from "../../support/redis-target.ts";

const { redis, keys } = openTestRedis();
const script = new URL("./run-process.ts", import.meta.url);
const kills = seeds(4, 100);
const redisKills = seeds(2, 5);

/** Resolves after this many more events, or when the process has ended; there are about 80 in all. */
async function untilReported(
  count: number,
  { reported, child }: { reported: RunEvents; child: ChildProcess },
): Promise<void> {
  const before = await reported.events();
  while ((await reported.events()) < before + count && child.exitCode === null);
}

it(`each change is stored together with its event after ${kills} kills by seed of a process that works on runs`, async () => {
  let inProgress = 0;
  await forEachSeed(kills, 4, async (seed) => {
    const own = new Keys(`${keys.prefix}:${seed}`);
    const reported = new RunEvents({ redis, keys: own });
    await reported.prepare();
    const child = await startScript(script, [redisUrl(), own.prefix, String(seed)]);
    await untilReported(Math.ceil(seededRandom(seed)() * 50), { reported, child });
    await kill(child);
    if (await reported.isInProgress()) inProgress += 1;
    await reported.expectNeitherAlone();
  });
  console.log(`${inProgress} of ${kills} kills fell between the first and the last move`);
  expect(inProgress).toBeGreaterThan(kills / 2);
}, 600_000);

/** Cuts the end off the file to which Redis appends, as a crash of the machine would. */
function lose(folder: string, bytes: number): void {
  const appended = join(folder, "appendonlydir");
  const name = readdirSync(appended).find((file) => file.endsWith(".incr.aof"));
  const path = join(appended, name ?? "");
  truncateSync(path, Math.max(0, statSync(path).size - bytes));
}

/** Kills the server at the end. */
async function withRedis<T>(folder: string, use: (reported: RunEvents, url: string) => Promise<T>): Promise<T> {
  const startProgram = (program: string, args: readonly string[], env = {}): RunningProcess =>
    new RunningProcess({ program, args, env: { PATH: process.env.PATH ?? "", ...env }, cwd: folder });
  await using server = await redisOnPort({ folder, startProgram });
  const connections = redisConnections(redisTarget(server.url));
  try {
    return await use(new RunEvents({ redis: connections.connect("events"), keys: new Keys() }), server.url);
  } finally {
    await connections.close();
  }
}

/** Works on runs in a process until Redis is killed under it. @returns how many rows had an outcome by then */
async function killRedis(folder: string, seed: number, random: () => number): Promise<number> {
  const { settledRows, child } = await withRedis(folder, async (reported, url) => {
    await reported.prepare();
    const working = await startScript(script, [url, new Keys().prefix, String(seed)]);
    await untilReported(30 + Math.ceil(random() * 30), { reported, child: working });
    return { settledRows: await reported.settledRows(), child: working };
  });
  await kill(child);
  return settledRows;
}

it(`each change is stored together with its event after ${redisKills} kills by seed of Redis that truncate its file`, async () => {
  let cutShort = 0;
  for (let seed = 1; seed <= redisKills; seed += 1) {
    const [folder, random] = [temporaryFolder(), seededRandom(1_000 + seed)];
    const settledRows = await killRedis(folder, seed, random);
    // Enough to hold outcomes, also where a slow machine writes more of other things between them.
    lose(folder, 20_000 + Math.ceil(random() * 20_000));
    await withRedis(folder, async (reported) => {
      await reported.expectNeitherAlone();
      if ((await reported.settledRows()) < settledRows) cutShort += 1;
    });
  }
  console.log(`${cutShort} of ${redisKills} kills of Redis lost outcomes that had been there`);
  expect(cutShort).toBeGreaterThan(0);
}, 600_000);

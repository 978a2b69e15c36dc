/**
 * A change and its event always exist together: after a kill -9 of a worker, and after one of Redis itself with the end
 * of its file lost.
 */
import type { ChildProcess } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, statSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { redisConnections } from "#redis/connection.ts";
import { Keys } from "#redis/keys.ts";
import { seededRandom } from "#sandbox/seeded.ts";
import { seeds } from "../../support/long.ts";
import { openTestRedis, redisUrl } from "../../support/redis.ts";
import { kill, startScript } from "../../support/script.ts";
import { RunningProcess } from "../../e2e/support/process.ts";
import { redisOnPort } from "../../e2e/support/redis-server.ts";
import { RunEvents } from "./run-events.ts";
import { redisTarget } from "../../support/redis-target.ts";

const { redis, keys } = openTestRedis();
const script = new URL("./run-process.ts", import.meta.url);
const kills = seeds(4, 100);
const lanes = 4;
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
  const oneLane = async (lane: number): Promise<void> => {
    for (let seed = 1 + lane; seed <= kills; seed += lanes) {
      const own = new Keys(`${keys.prefix}:${seed}`);
      const reported = new RunEvents({ redis, keys: own });
      await reported.prepare();
      const child = await startScript(script, [redisUrl(), own.prefix, String(seed)]);
      await untilReported(Math.ceil(seededRandom(seed)() * 50), { reported, child });
      await kill(child);
      if (await reported.isInProgress()) inProgress += 1;
      await reported.expectNeitherAlone();
    }
  };
  await Promise.all(Array.from({ length: lanes }, (_, lane) => oneLane(lane)));
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

it(`each change is stored together with its event after ${redisKills} kills by seed of Redis that truncate its file`, async () => {
  let cutShort = 0;
  for (let seed = 1; seed <= redisKills; seed += 1) {
    const random = seededRandom(1_000 + seed);
    const folder = mkdtempSync(join(tmpdir(), "simfleet-events-"));
    const startProgram = (program: string, args: readonly string[], env = {}): RunningProcess =>
      new RunningProcess({ program, args, env: { PATH: process.env.PATH ?? "", ...env }, cwd: folder });
    try {
      const before = await withRedis({ folder, startProgram }, async (reported, url) => {
        await reported.prepare();
        const child = await startScript(script, [url, new Keys().prefix, String(seed)]);
        await untilReported(30 + Math.ceil(random() * 30), { reported, child });
        const tallies = await reported.settledRows();
        return { tallies, child };
      });
      await kill(before.child);
      // Enough to hold outcomes, also where a slow machine writes more of other things between them.
      lose(folder, 20_000 + Math.ceil(random() * 20_000));
      await withRedis({ folder, startProgram }, async (reported) => {
        await reported.expectNeitherAlone();
        if ((await reported.settledRows()) < before.tallies) cutShort += 1;
      });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
  console.log(`${cutShort} of ${redisKills} kills of Redis lost outcomes that had been there`);
  expect(cutShort).toBeGreaterThan(0);
}, 600_000);

/** Kills the server at the end. */
async function withRedis<T>(
  place: Parameters<typeof redisOnPort>[0],
  use: (reported: RunEvents, url: string) => Promise<T>,
): Promise<T> {
  await using server = await redisOnPort(place);
  const connections = redisConnections(redisTarget(server.url));
  try {
    return await use(new RunEvents({ redis: connections.connect("events"), keys: new Keys() }), server.url);
  } finally {
    await connections.close();
  }
}

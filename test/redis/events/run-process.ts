/**
 * A process that submits runs and works on them through the ledger and the jobs, with a platform that answers within
 * two milliseconds: runs that complete, that are paused and resumed, cancelled, and aborted. To be killed at any
 * moment. It says on stdout when it starts.
 *   node run-process.ts REDIS_URL PREFIX SEED
 */
import type { PlatformClient } from "#api/client.ts";
import { PlatformError } from "#core/errors.ts";
import { systemClock } from "#core/time.ts";
import { isRunOver } from "#fleet/run.ts";
import { execute } from "#jobs/runs/work/execute.ts";
import { redisConnections } from "#redis/connection.ts";
import { Keys } from "#redis/keys.ts";
import { seededRandom } from "#sandbox/seeded.ts";
import { Ledger } from "#jobs/runs/ledger/ledger.ts";
import { keptBounds } from "../ledger/run-of.ts";
import { workContext } from "../ledger/work-context.ts";
import { type Course, selection, classAfter, courses, runOnSims } from "./run-events.ts";
import { redisTarget } from "../../support/redis-target.ts";

const [redisUrl = "", prefix = "", seedText = ""] = process.argv.slice(2);
const random = seededRandom(Number(seedText));
const redis = redisConnections(redisTarget(redisUrl)).connect("killed");
const collaborators = { redis, keys: new Keys(prefix), bounds: keptBounds, clock: systemClock };
const ledger = new Ledger(collaborators);
const never = new AbortController().signal;

function platformOf(course: Course): PlatformClient {
  const call = async (_: unknown, { key }: { key: string }): Promise<unknown> => {
    await systemClock.sleep(random() * 2);
    if (course === "aborted") throw new PlatformError("PLATFORM_REJECTED", "no", { operation: "test", status: 400 });
    return { simId: key, speedClass: classAfter };
  };
  return { call } as unknown as PlatformClient;
}

async function leasesOn(runId: string, course: Course): Promise<void> {
  const move = (to: "paused" | "running" | "cancelled", from: "running" | "paused"): Promise<void> =>
    ledger.move(runId, to, [from], { by: "test" }).catch(() => undefined);
  await systemClock.sleep(random() * 12);
  if (course === "cancelled") await move("cancelled", "running");
  if (course !== "paused") return;
  for (let i = 0; i < 2; i += 1) {
    await move("paused", "running");
    await systemClock.sleep(random() * 6);
    await move("running", "paused");
    await systemClock.sleep(random() * 6);
  }
}

async function workOn(number: number, course: Course): Promise<void> {
  const { head, segments } = runOnSims(number, course);
  for (const [segment, rows] of segments.entries()) await ledger.draftSegment(head.runId, segment, rows);
  await ledger.commit(head, "running", head.runId);
  const hands = leasesOn(head.runId, course);
  const account = { client: platformOf(course), wording: "sims", selection } as const;
  const context = workContext(collaborators, { ledger, lanes: 2, account: () => account });
  while (!isRunOver((await ledger.run(head.runId)).state)) {
    await Promise.all(segments.map((_, segment) => execute({ runId: head.runId, segment }, context, never)));
  }
  await hands;
}

await redis.ping();
console.log("begun");
await Promise.all([...courses, ...courses].map((course, number) => workOn(number, course)));
redis.disconnect();

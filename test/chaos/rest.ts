/**
 * Waits until everything has come to rest after the faults: every run, the sync and the rotation are over, every
 * message is delivered, no job is left in a queue, and nothing holds a row, a SIM or a run.
 */
import { readdirSync } from "node:fs";
import { Keys } from "#redis/keys.ts";
import type { Redis } from "ioredis";
import { deliveryKeys, eventIdAt } from "#jobs/webhooks/deliveries.ts";
import { runKeys } from "#jobs/runs/ledger/keys.ts";
import { inventoryKeys } from "#jobs/inventory/store/keys.ts";
import { ask } from "./control.ts";
import type { StartedRun } from "./load.ts";
import { dropFolderOf, type Stage } from "./stage/stage.ts";
import { nowMs, sleep } from "./time.ts";

const keys = new Keys();
const profile = "default";
const overRuns = new Set(["completed", "aborted", "cancelled"]);
const overRotations = new Set(["done", "failed"]);
const pollMs = 200;
/** Longer than until the second attempt. */
const lateMessageMs = 20_000;

/**
 * @returns what was in progress last
 * @throws Error with what is still in progress at the deadline
 */
export async function untilRest(stage: Stage, runs: readonly StartedRun[], deadlineMs: number): Promise<string> {
  let last = "";
  const endMs = nowMs() + deadlineMs;
  for (;;) {
    await sendLateMessages(stage);
    const left = await unrest(stage, runs);
    if (left.length === 0) return last;
    last = left.join("; ");
    if (nowMs() > endMs) throw new Error(`not at rest ${deadlineMs / 1_000} s after the faults: ${last}`);
    await sleep(pollMs);
  }
}

/** The third attempt of a message comes after five minutes: an operator who knows the receiver is back resends it. */
async function sendLateMessages({ redis: { direct }, stations }: Stage): Promise<void> {
  const late = await direct.zrangebyscore(deliveryKeys(keys, "ops").pending, Date.now() + lateMessageMs, "+inf");
  for (const place of late) {
    const path = `/deliveries/ops.${eventIdAt(place)}/redeliver`;
    await ask(stations, { method: "POST", path }).catch(() => undefined);
  }
}

/** What is still in progress, in words. */
async function unrest(stage: Stage, started: readonly StartedRun[]): Promise<string[]> {
  const {
    redis: { direct },
    stations,
  } = stage;
  const left: string[] = [];
  for (const { worker } of stations) if (!worker.isReady) left.push(`worker ${worker.number} is not ready`);
  for (const runId of new Set([
    ...started.map((run) => run.runId),
    ...(await direct.zrange(runKeys(keys).runs(), "0", "-1")),
  ])) {
    const { state, ...head } = await direct.hgetall(keys.run(runId));
    if (!overRuns.has(state ?? "")) left.push(`run ${runId} is ${state}: ${JSON.stringify(shortened(head))}`);
    const hands = await direct.hlen(runKeys(keys).leases(runId));
    if (hands > 0) left.push(`${hands} leases on run ${runId}`);
  }
  const sync = await direct.hgetall(inventoryKeys(keys).sync(profile));
  if (sync.phase !== "finished" && sync.phase !== "failed") left.push(`the sync is ${JSON.stringify(shortened(sync))}`);
  const rotation = await direct.hgetall(keys.of("rotation", "mqtt"));
  if (!overRotations.has(rotation.state ?? "")) left.push(`the rotation is ${JSON.stringify(shortened(rotation))}`);
  const pending = await direct.zrange(deliveryKeys(keys, "ops").pending, "0", "-1", "WITHSCORES");
  if (pending.length > 0) left.push(`deliveries are pending: ${pending.join(" ")}`);
  const locks = Object.values(await direct.hgetall(inventoryKeys(keys).locks(profile)));
  for (const runId of new Set(locks.map((lock) => lock.split("\n", 1)[0] ?? ""))) {
    // Those of a cancelled run are released by a later sync.
    const state = await direct.hget(keys.run(runId), "state");
    if (state !== "cancelled") left.push(`locks of run ${runId}, which is ${state}`);
  }
  return [...left, ...(await eventsLeft(direct)), ...filesLeft(stage), ...(await jobsLeft(direct))];
}

/** Readers of events that are behind. Events of schedules come all the time, so a little behind is normal. */
async function eventsLeft(direct: Redis): Promise<string[]> {
  const [newest] = await direct.xrevrange(keys.events(), "+", "-", "COUNT", 1);
  const left: string[] = [];
  for (const reader of ["deliveries", "automation-after-run"]) {
    const place = await direct.hget(keys.feedPlaces(), reader);
    const behindMs = Number(newest?.[0].split("-", 1)[0] ?? 0) - Number(place?.split("-", 1)[0] ?? 0);
    if (behindMs > 1_000) left.push(`${reader} is ${behindMs} ms behind the events`);
  }
  return left;
}

function filesLeft({ disk }: Stage): string[] {
  const files = readdirSync(dropFolderOf(disk), { recursive: true, withFileTypes: true });
  const waiting = files.filter((entry) => entry.isFile() && /in$|processing$/.test(entry.parentPath));
  return waiting.length === 0 ? [] : [`the drop folder has ${waiting.map(({ name }) => name).join(" ")}`];
}

/** Queues whose jobs stay as long as they are configured; what they have left to do is looked at above. */
const standing = /^(?:schedules$|automations$|webhooks$|drop-folder-)/;

async function jobsLeft(direct: Redis): Promise<string[]> {
  const left: string[] = [];
  for (const name of await direct.smembers(keys.queueNames())) {
    if (standing.test(name)) continue;
    const at = (state: string): string => `${keys.queues()}:${name}:${state}`;
    for (const state of ["wait", "active", "paused"]) {
      const jobs = await direct.lrange(at(state), 0, -1);
      if (jobs.length > 0) left.push(`${name} has ${state} jobs ${jobs.join(" ")}`);
    }
    for (const state of ["delayed", "failed", "prioritized"]) {
      const jobs = await direct.zrange(at(state), "0", "-1");
      if (jobs.length > 0) left.push(`${name} has ${state} jobs ${jobs.join(" ")}`);
    }
  }
  return left;
}

function shortened(hash: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(hash).map(([name, text]) => [name, text.slice(0, 120)]));
}

/** What uses how much of Redis's memory, by kind of data. Keys are found through their lists, never by scanning. */
import type { Redis } from "ioredis";
import type { Keys } from "#redis/keys.ts";
import { simsPerChunk } from "#jobs/inventory/records/signature.ts";
import type { StoragePart } from "./contract.ts";

const keysAtOnce = 500;
/** Members of a list, set or hash that Redis measures to estimate the rest. */
const samples = 20;

type PartName = StoragePart["part"];

export interface UsageDeps {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly profiles: readonly string[];
  readonly webhooks: readonly string[];
}

/** Bytes and keys of each kind of data; what is not among them is the rest of Redis's memory. */
export async function storageParts(deps: UsageDeps): Promise<StoragePart[]> {
  const { keys } = deps;
  const parts: Record<PartName, AsyncIterable<string> | Iterable<string>> = {
    runs: keysOfRuns(deps),
    inventory: keysOfInventory(deps),
    events: [keys.events(), keys.feedPlaces()],
    deliveries: keysOfDeliveries(deps),
    audit: [keys.audit(), keys.auditResults()],
    queues: keysOfQueues(deps),
    quotas: keysOfQuotas(deps),
  };
  const measured: StoragePart[] = [];
  for (const [part, some] of Object.entries(parts)) {
    measured.push({ part: part as PartName, ...(await measure(deps.redis, some)) });
  }
  return measured;
}

async function measure(
  redis: Redis,
  names: AsyncIterable<string> | Iterable<string>,
): Promise<Pick<StoragePart, "bytes" | "keys">> {
  const total = { bytes: 0, keys: 0 };
  let batch: string[] = [];
  const end = async (): Promise<void> => {
    const pipeline = redis.pipeline();
    for (const key of batch) pipeline.memory("USAGE", key, "SAMPLES", samples);
    for (const [error, bytes] of (await pipeline.exec()) ?? []) {
      if (error !== null) throw error;
      if (typeof bytes !== "number") continue; // there is no such key
      total.bytes += bytes;
      total.keys += 1;
    }
    batch = [];
  };
  for await (const name of names) {
    batch.push(name);
    if (batch.length === keysAtOnce) await end();
  }
  await end();
  return total;
}

async function* keysOfRuns({ redis, keys }: UsageDeps): AsyncGenerator<string> {
  yield keys.runs();
  for (const runId of await redis.zrange(keys.runs(), "0", "-1")) {
    yield* [keys.run(runId), keys.runLeases(runId), keys.runInput(runId), keys.runFinished(runId)];
  }
}

async function* keysOfInventory(deps: UsageDeps): AsyncGenerator<string> {
  const noted = await deps.redis.zrange(deps.keys.profiles(), "0", "-1");
  yield deps.keys.profiles();
  for (const profile of new Set([...deps.profiles, ...noted])) yield* inventoryKeysOf(profile, deps);
}

/** The keys of a profile's inventory, its head first. */
export async function* inventoryKeysOf(
  profile: string,
  { redis, keys }: Pick<UsageDeps, "redis" | "keys">,
): AsyncGenerator<string> {
  yield* [keys.simsHead(profile), keys.sims(profile), keys.simsCodes(profile), keys.simsColumns(profile)];
  yield* [keys.simsSeen(profile), keys.simsClaims(profile), keys.sync(profile), keys.fleetHistory(profile)];
  const next = Number((await redis.hget(keys.simsHead(profile), "next")) ?? 0);
  for (let chunk = 0; chunk * simsPerChunk < next; chunk += 1) {
    yield* [keys.simsKeyOrder(profile, chunk), keys.simsSignatures(profile, chunk), keys.simsDigests(profile, chunk)];
  }
}

async function* keysOfDeliveries({ redis, keys, webhooks }: UsageDeps): AsyncGenerator<string> {
  for (const webhook of webhooks) {
    yield* [keys.webhook(webhook), keys.deliveries(webhook), keys.deliveriesPending(webhook)];
    for (const place of await redis.zrange(keys.deliveries(webhook), "0", "-1")) yield keys.delivery(webhook, place);
  }
}

/** BullMQ's lists, and the jobs that wait or have failed. */
async function* keysOfQueues({ redis, keys }: UsageDeps): AsyncGenerator<string> {
  yield keys.queueNames();
  for (const queue of await redis.smembers(keys.queueNames())) {
    const prefix = `${keys.queues()}:${queue}:`;
    for (const name of ["meta", "events", "id", "stalled", "stalled-check", "limiter", "pc", "marker", "repeat"]) {
      yield prefix + name;
    }
    const [wait, active, ...sorted] = await Promise.all([
      redis.lrange(`${prefix}wait`, 0, -1),
      redis.lrange(`${prefix}active`, 0, -1),
      ...["delayed", "failed", "completed", "prioritized"].map((name) => redis.zrange(prefix + name, "0", "-1")),
    ]);
    yield* ["wait", "active", "delayed", "failed", "completed", "prioritized"].map((name) => prefix + name);
    for (const id of [...wait, ...active, ...sorted.flat()]) yield prefix + id;
  }
}

async function* keysOfQuotas({ redis, keys }: UsageDeps): AsyncGenerator<string> {
  yield keys.buckets();
  for (const bucket of await redis.smembers(keys.buckets())) {
    yield* [keys.bucket(bucket), keys.permits(bucket), keys.waiters(bucket)];
  }
}

/**
 * The part of the composition root that builds what is stored in Redis: the ledger, the inventory, the feed, and the
 * limiter.
 */
import type { Redis } from "ioredis";
import type { Config } from "#config/config.ts";
import type { Lifecycle } from "#core/lifecycle.ts";
import type { Clock } from "#core/time.ts";
import { Feed } from "#events/feed.ts";
import { Limiter } from "#limiter/limiter.ts";
import { PoisonGuard } from "#engine/poison-guard.ts";
import { WorkerRegistry } from "#engine/queue/worker-registry.ts";
import type { RedisConnections } from "#redis/connection.ts";
import { ensureDataVersion } from "#redis/data-version.ts";
import { Keys } from "#redis/keys.ts";
import { inWordsOfRedis } from "#redis/refusal.ts";
import { ReplicatedWrites } from "#redis/replicated-writes.ts";
import type { RedisFacts } from "#redis/verify.ts";
import { AuthKeyUsers } from "#jobs/authkeys/users.ts";
import { Freezes } from "#jobs/freezes/record.ts";
import { Inventory } from "#jobs/inventory/store/inventory.ts";
import type { StoreDeps } from "#engine/store-deps.ts";
import type { Logger } from "#telemetry/logger.ts";
import { Ledger } from "#jobs/runs/ledger/ledger.ts";
import { type RunRemoval, runRemoval } from "#jobs/runs/removal/removal.ts";
import { SyncLog } from "#jobs/inventory/store/sync-record.ts";

export interface Stores {
  readonly keys: Keys;
  readonly storeDeps: StoreDeps;
  readonly limiter: Limiter;
  readonly feed: Feed;
  readonly ledger: Ledger;
  readonly runRemoval: RunRemoval;
  readonly inventory: Inventory;
  readonly freezes: Freezes;
  readonly syncs: SyncLog;
  readonly users: AuthKeyUsers;
  readonly workerRegistry: WorkerRegistry;
  readonly guard: PoisonGuard;
}

/** @throws SimfleetError STORE_UNAVAILABLE if this version cannot read the data in Redis */
export async function openData(connections: RedisConnections): Promise<void> {
  const redis = connections.connect("data-version");
  try {
    await ensureDataVersion(redis, new Keys());
  } catch (thrown) {
    throw inWordsOfRedis(thrown);
  } finally {
    redis.disconnect();
  }
}

export function buildStores({
  redis,
  config,
  clock,
  connections,
  redisFacts,
  lifecycle,
  logger,
}: {
  redis: Redis;
  config: Config;
  clock: Clock;
  connections: RedisConnections;
  redisFacts: RedisFacts;
  lifecycle: Lifecycle;
  logger: Logger;
}): Stores {
  const replicated = replicatedWrites(connections, redisFacts);
  const keys = new Keys();
  const { periodMs, reserve } = config.limits;
  const storeDeps = { redis, keys, bounds: config.events };
  const workerRegistry = new WorkerRegistry({ redis, keys });
  const guard = new PoisonGuard({ redis, keys, workerRegistry, onSetAside: (message) => logger.error(message) });
  lifecycle.onStop("marks of work", () => guard.close());
  return {
    keys,
    storeDeps,
    limiter: new Limiter({
      redis,
      keys,
      periodMs,
      reserve,
      clock,
    }),
    feed: new Feed({
      ...storeDeps,
      clock,
    }),
    ledger: new Ledger({
      ...storeDeps,
      clock,
      replicated,
    }),
    runRemoval: runRemoval({
      ...storeDeps,
      clock,
    }),
    inventory: new Inventory(storeDeps),
    freezes: new Freezes({
      ...storeDeps,
      clock,
      windows: config.freezes,
    }),
    syncs: new SyncLog(storeDeps),
    users: new AuthKeyUsers(storeDeps),
    workerRegistry,
    guard,
  };
}

/** Undefined where Redis acknowledges nothing beyond its reply. */
function replicatedWrites(connections: RedisConnections, facts: RedisFacts): ReplicatedWrites | undefined {
  const needed = { ofReplica: facts.hasReplicas, ofFile: facts.acknowledgesFile };
  if (!needed.ofReplica && !needed.ofFile) return undefined;
  return new ReplicatedWrites(() => connections.connect("replicated"), needed);
}

/** The part of the hall that builds what lies in Redis: the ledger, the inventory, the feed, and the limiter beside them. */
import type { Redis } from "ioredis";
import type { Config } from "#config/config.ts";
import type { Clock } from "#core/time.ts";
import { Feed } from "#events/feed.ts";
import { Limiter } from "#limiter/limiter.ts";
import { Presence } from "#queue/presence.ts";
import { Keys } from "#redis/keys.ts";
import { AuthKeyUsers } from "#store/auth-key-users.ts";
import { Freezes } from "#store/freezes.ts";
import { Inventory } from "#store/inventory.ts";
import type { InventoryTerms } from "#store/inventory-script.ts";
import { Ledger } from "#store/ledger.ts";
import { SyncLog } from "#store/sync-log.ts";

export interface Stores {
  readonly keys: Keys;
  readonly terms: InventoryTerms;
  readonly limiter: Limiter;
  readonly feed: Feed;
  readonly ledger: Ledger;
  readonly inventory: Inventory;
  readonly freezes: Freezes;
  readonly syncs: SyncLog;
  readonly users: AuthKeyUsers;
  readonly presence: Presence;
}

export function buildStores({ redis, config, clock }: { redis: Redis; config: Config; clock: Clock }): Stores {
  const keys = new Keys();
  const { periodMs, reserve } = config.limits;
  const terms = { redis, keys, bounds: config.events };
  return {
    ...{ keys, terms },
    limiter: new Limiter({ redis, keys, periodMs, reserve, clock }),
    feed: new Feed({ ...terms, clock }),
    ledger: new Ledger({ ...terms, clock }),
    inventory: new Inventory(terms),
    freezes: new Freezes({ ...terms, clock, windows: config.freezes }),
    syncs: new SyncLog(terms),
    users: new AuthKeyUsers(terms),
    presence: new Presence({ redis, keys }),
  };
}

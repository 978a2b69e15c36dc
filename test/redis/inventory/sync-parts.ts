/** What a sync is made of, for the tests' own process and for one that they kill. */
import { randomBytes } from "node:crypto";
import type { Redis } from "ioredis";
import { PlatformClient } from "#api/client.ts";
import { Secret } from "#core/secret.ts";
import { systemClock } from "#core/time.ts";
import { keptFields, secretFields, usualFields } from "#fleet/sim-fields.ts";
import { type Wording, keyColumnOf } from "#fleet/sim.ts";
import type { Account } from "#jobs/account.ts";
import type { SyncVerdict } from "#jobs/job.ts";
import { syncInventory } from "#jobs/sync-inventory.ts";
import type { Keys } from "#redis/keys.ts";
import { Inventory } from "#store/inventory.ts";
import { SyncLog } from "#store/sync-log.ts";
import { OpenPermits } from "../../unit/api/support.ts";
import { keptBounds } from "../ledger/run-of.ts";

export interface SyncParts {
  readonly profile: string;
  readonly inventory: Inventory;
  readonly syncs: SyncLog;
  readonly client: PlatformClient;
}

export function syncParts(of: {
  redis: Redis;
  keys: Keys;
  url: string;
  profile: string;
  wording: Wording;
  coverage: "g" | "jp";
}): SyncParts {
  const { redis, keys, url, profile, wording, coverage } = of;
  const terms = { redis, keys, bounds: keptBounds };
  const client = new PlatformClient({
    profile: { name: profile, coverage, wording },
    brand: "Svc",
    language: "en",
    endpoints: { global: url, japan: url },
    credentials: { kind: "auth-key", authKeyId: "keyId-sandbox", authKey: new Secret("secret-sandbox") },
    connections: 4,
    clock: systemClock,
    permits: new OpenPermits(),
    userAgent: "simfleet/test",
  });
  return { profile, inventory: new Inventory(terms), syncs: new SyncLog(terms), client };
}

export function accountOf(client: PlatformClient, wording: Wording, fields: readonly string[] = usualFields): Account {
  const secrets = new Set(secretFields);
  return { client, wording, choice: { fields: keptFields(fields, keyColumnOf(wording)), secrets, places: {} } };
}

/** Goes on with the sync that is under way. */
export function workOn(parts: SyncParts, account: Account, signal?: AbortSignal): Promise<SyncVerdict> {
  const { profile, inventory, syncs } = parts;
  const newSyncId = (): string => `s-again-${randomBytes(3).toString("hex")}`;
  const context = { syncs, inventory, clock: systemClock, accountFor: () => account, newSyncId };
  return syncInventory(profile, context, signal ?? new AbortController().signal);
}

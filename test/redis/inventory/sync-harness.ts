/** The parts of a sync, for the tests' own process and for one that they kill. */
import type { Redis } from "ioredis";
import type { PlatformClient } from "#api/client.ts";
import { Secret } from "#core/secrets/secret.ts";
import { systemClock } from "#core/time.ts";
import { keptFields, secretFields, usualFields } from "#fleet/sim/sim-fields.ts";
import { type Wording, keyColumnOf } from "#fleet/sim/sim.ts";
import type { Account } from "#api/account.ts";
import type { WorkResult } from "#engine/queue/job-result.ts";
import { syncInventory } from "#jobs/inventory/work.ts";
import type { Keys } from "#redis/keys.ts";
import { Inventory } from "#jobs/inventory/store/inventory.ts";
import { SyncLog } from "#jobs/inventory/store/sync-record.ts";
import { clientFor } from "../../unit/api/support.ts";
import { keptBounds } from "../ledger/run-of.ts";
import { noGuard } from "../../support/no-guard.ts";

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
  const client = clientFor(url, {
    profile: { name: profile, coverage, wording },
    endpoints: { global: url, japan: url },
    credentials: () => [{ kind: "auth-key", authKeyId: "keyId-sandbox", authKey: new Secret("secret-sandbox") }],
    clock: systemClock,
  });
  return { profile, ...storesOn({ redis, keys }), client };
}

export function storesOn(place: { redis: Redis; keys: Keys }): { inventory: Inventory; syncs: SyncLog } {
  const deps = { ...place, bounds: keptBounds };
  return { inventory: new Inventory(deps), syncs: new SyncLog(deps) };
}

export function accountOf(client: PlatformClient, wording: Wording, fields: readonly string[] = usualFields): Account {
  const secrets = new Set(secretFields);
  return {
    client,
    wording,
    selection: {
      fields: keptFields(fields, { keyColumn: keyColumnOf(wording), ofOperations: ["speedClass"] }),
      secrets,
      places: {},
    },
  };
}

/** Continues the sync in progress. */
export function workOn(deps: SyncParts, account: Account, signal?: AbortSignal): Promise<WorkResult> {
  const { profile, inventory, syncs } = deps;
  const context = { syncs, inventory, guard: noGuard, clock: systemClock, account: () => account };
  return syncInventory(profile, context, signal ?? new AbortController().signal);
}

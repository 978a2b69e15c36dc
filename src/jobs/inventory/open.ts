/** Opens the inventory: what is stored of SIMs and syncs, the queue of syncs, and the services. */
import type { WorkResult } from "#engine/queue/job-result.ts";
import type { Incident, Working } from "#engine/queue/working.ts";
import type { Kernel } from "#kernel/kernel.ts";
import { FleetHistory } from "./fleet-history.ts";
import { FleetService } from "./fleet-service.ts";
import { syncQueues } from "./queue.ts";
import { SimService } from "./service.ts";
import { Inventory } from "./store/inventory.ts";
import { isSyncOver, SyncLog } from "./store/sync-record.ts";
import { newSyncId } from "./sync-report.ts";
import { syncInventory } from "./work.ts";

export type OpenInventory = ReturnType<typeof openInventory>;

export function openInventory(kernel: Kernel) {
  const { clock, feed, guard, account, lifecycle, wordingOf } = kernel;
  const store = new Inventory(kernel);
  const syncs = new SyncLog(kernel);
  const queues = syncQueues(kernel);
  lifecycle.onStop("sync queues", () => queues.close());
  const service = new SimService({ inventory: store, syncs, syncQueues: queues, feed, wordingOf });
  const fleet = new FleetService({ sims: service, history: new FleetHistory(kernel), clock });

  const sync = async (profile: string, signal: AbortSignal): Promise<WorkResult> => {
    const context = {
      syncs,
      inventory: store,
      guard,
      clock,
      accountFor: account,
      newSyncId: () => newSyncId(clock.wallMs()),
    };
    const result = await syncInventory(profile, context, signal);
    if (result.kind === "ended") await feed.trim();
    return result;
  };

  /** Works on a profile's syncs until stopped. */
  const consume = async (profile: string, onIncident: (incident: Incident) => void): Promise<Working> => {
    const working = await queues.consume(profile, {
      onIncident,
      sync,
      isInProgress: async (name) => {
        const state = await syncs.state(name);
        return state !== undefined && !isSyncOver(state);
      },
    });
    return kernel.watchOver(`syncs of ${profile}`, working);
  };

  return { service, store, syncs, fleet, consume };
}

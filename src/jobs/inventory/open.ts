/** Opens the inventory: what is stored of SIMs and syncs, the queue of syncs, and the services. */
import type { Incident, Interruption, Working } from "#engine/queue/job-result.ts";
import type { Kernel } from "#kernel/kernel.ts";
import { simService } from "./service.ts";
import { Inventory } from "./store/inventory.ts";
import { isSyncOver, SyncLog } from "./store/sync-record.ts";
import { syncInventory } from "./work.ts";
import { profileJobs } from "#engine/queue/work-queues.ts";

export type OpenInventory = ReturnType<typeof openInventory>;

export function openInventory(kernel: Kernel) {
  const { feed } = kernel;
  const store = new Inventory(kernel);
  const syncs = new SyncLog(kernel);
  const queues = profileJobs("syncs", "the-sync", kernel);
  const service = simService({ ...kernel, store, syncs, queues });

  const context = { ...kernel, syncs, inventory: store };

  /** Reads the SIMs of a profile, unless a sync has since this instant of Redis's clock. @returns why that is not over */
  const syncSince = async (profile: string, atMs: number, signal: AbortSignal): Promise<Interruption | undefined> => {
    const isListed = async (): Promise<boolean> => ((await store.facts(profile)).listedAtMs ?? 0) > atMs;
    if (await isListed()) return undefined;
    await service.sync(profile, { by: "gate" });
    const result = (await queues.isServed(profile)) ? undefined : await syncInventory(profile, context, signal);
    if (result !== undefined && result.kind !== "ended") return result;
    return (await isListed())
      ? undefined
      : { kind: "postponed", delayMs: 2_000, scope: "job", reason: "a sync goes on" };
  };

  /** Works on a profile's syncs until stopped. */
  const consume = (profile: string, onIncident: (incident: Incident) => void): Promise<Working> =>
    queues.consume(profile, {
      onIncident,
      // Never `due`: a sync that waits for the quota must not start early.
      status: async (name) => {
        const state = await syncs.state(name);
        return state?.profile === name && !isSyncOver(state) ? "waiting" : "none";
      },
      work: async (name, signal) => {
        const result = await syncInventory(name, context, signal);
        if (result.kind === "ended") await feed.trim();
        if (result.kind === "postponed") {
          const { reason, refusal } = result;
          onIncident({ message: reason, isInReport: true, ...(refusal === undefined ? {} : { refusal }) });
        }
        return result;
      },
    });

  return { service, store, syncs, isServed: queues.isServed, syncSince, consume };
}

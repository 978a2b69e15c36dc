/** Opens usage: its service, and what answers its route. */
import { requirePlatform } from "#config/config.ts";
import { endpoint } from "#contract/route.ts";
import { messageOf } from "#core/errors.ts";
import { isLoopback } from "#core/loopback.ts";
import { requireOperations } from "#fleet/required-operation.ts";
import type { OpenInventory } from "#jobs/inventory/open.ts";
import { newSyncId } from "#jobs/inventory/store/sync-record.ts";
import type { Opened } from "#kernel/feature.ts";
import type { Kernel } from "#kernel/kernel.ts";
import * as routes from "./contract.ts";
import { readUsage } from "./work.ts";

export interface UsageService {
  /** Reads the usage of a profile's SIMs, once at a time. Repeating it reports no SIM twice. */
  readonly sync: (profile: string, signal?: AbortSignal) => StartedSync;
}

/** A sync that has started. `report` rejects as `readUsage`. */
type StartedSync = Readonly<{ syncId: string; report: Promise<routes.UsageReport> }>;

export function openUsage(kernel: Kernel, { store }: Pick<OpenInventory, "store">): Opened<UsageService> {
  const { config, clock, feed, lifecycle, logger } = kernel;
  const running = new Map<string, StartedSync>();
  let closing: AbortController | undefined;
  const context = {
    ...kernel,
    inventory: store,
    accountFor: kernel.account,
    operations: () => requireOperations(config.deployment, ["exportUsage", "getExportedFile"], "Reading the usage"),
    hosts: config.deployment.downloads.hosts,
    proxy: config.proxy,
    thresholds: config.usage.thresholds,
    isLocal: (profile: string) => isLoopback(new URL(requirePlatform(config, profile).authEndpoint).hostname),
  };

  const read = async (profile: string, startedAtMs: number, syncId: string, signal: AbortSignal) => {
    try {
      const counts = await readUsage({ ...context, profile, syncId, startedAtMs, signal });
      const { sims, unknown, crossed } = counts;
      const fields = { cause: syncId, sims: `${sims}`, unknown: `${unknown}`, crossed: `${crossed}` };
      await feed.emit({ type: "usage.synced", profile, fields });
      return { profile, syncId, isOver: true, ...counts };
    } catch (thrown) {
      const fields = { cause: syncId, reason: messageOf(thrown) };
      if (!signal.aborted) await feed.emit({ type: "usage.failed", profile, fields });
      throw thrown;
    } finally {
      running.delete(profile);
    }
  };

  const sync: UsageService["sync"] = (profile, signal) => {
    // Registered by the first sync, so that it stops before the schedules that wait for it.
    if (closing === undefined) lifecycle.onStop("usage", () => closing?.abort(new Error("this process is stopping")));
    closing ??= new AbortController();
    const signals = signal === undefined ? [closing.signal] : [closing.signal, signal];
    const startedAtMs = clock.wallMs();
    const syncId = newSyncId(startedAtMs, "u");
    const started = running.get(profile) ?? {
      syncId,
      report: read(profile, startedAtMs, syncId, AbortSignal.any(signals)),
    };
    running.set(profile, started);
    return started;
  };

  return {
    service: { sync },
    routes: ({ process }) => [
      endpoint(routes.syncUsage, ({ query, signal }) => {
        const profile = kernel.profileOf(query.profile);
        context.operations();
        if (process === "command") return sync(profile, signal).report;
        const { syncId, report } = sync(profile);
        report.catch((thrown: unknown) => logger.error({ profile, reason: messageOf(thrown) }, "no usage was read"));
        return { profile, syncId, isOver: false, calls: 0, sims: 0, unknown: 0, crossed: 0 };
      }),
    ],
  };
}

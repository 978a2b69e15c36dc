/** The inventory: SIMs as they were last seen, and the syncs that read them. */
import { feature } from "#cli/feature.ts";
import { events } from "./events.ts";
import { logIncidents } from "#kernel/feature.ts";
import { every, minuteMs, secondMs } from "#core/time.ts";

export const inventory = feature({
  name: "inventory",
  data: { inventory: ["sims", "inventories"] },
  audit: "syncs",
  kept: ({ retention }) => ({ goneSims: retention.goneSimDays }),
  profileData: ["sims"],
  events,
  open: async (kernel) => {
    const { activityOfSyncs, openInventory, sweepSims } = await import("./service.ts");
    const opened = openInventory(kernel);
    const { service, store } = opened;
    const { config, clock, logger, lifecycle } = kernel;
    const configured = Object.keys(config.profiles);
    return {
      service: opened,
      routes: async ({ process }) =>
        (await import("./endpoints.ts")).inventoryEndpoints({ ...kernel, ...opened, process }),
      work: async (profiles) => {
        const { logActivity } = await import("#engine/activity-log.ts");
        const stopLogging = logActivity(async () => activityOfSyncs(await service.syncReports(profiles)), logger);
        lifecycle.onStop("activity of syncs", stopLogging);
        const stopRemembering = every(minuteMs, () => {
          for (const profile of configured) service.remember(profile).catch(() => undefined);
        });
        lifecycle.onStop("history of the fleet", stopRemembering);
        return Promise.all(
          profiles.map((profile) => opened.consume(profile, logIncidents(logger, { profile, job: "sync" }))),
        );
      },
      sweep: (now) => sweepSims(now, { ...kernel, ...opened }),
      readings: async () => {
        const facts = configured.map(async (profile) => ({ profile, ...(await store.facts(profile)) }));
        return (await Promise.all(facts)).flatMap(({ profile, known, gone, listedAtMs }) => [
          { metric: "sims" as const, value: known, labels: { profile, standing: "listed" } },
          { metric: "sims" as const, value: gone, labels: { profile, standing: "gone" } },
          ...(listedAtMs === undefined
            ? []
            : [{ metric: "syncAge" as const, value: (clock.wallMs() - listedAtMs) / secondMs, labels: { profile } }]),
        ]);
      },
    };
  },
  commands: {
    sims: {
      group: "fleet",
      summary: "Sync, list, count and export the SIMs of the inventory",
      load: async (context) => (await import("./commands/sims.ts")).simsCommand(context),
    },
  },
  stores: { "sims sync": "makes" },
  reads: ["sims count", "sims export", "sims changes"],
  ofProfile: ["sims sync"],
});

/** Storage: how long data is kept in Redis, and how much room it takes. */
import { feature } from "#cli/feature.ts";
import { events } from "./events.ts";
import { credentials } from "#jobs/credentials/feature.ts";
import { inventory } from "#jobs/inventory/feature.ts";
import { runs } from "#jobs/runs/feature.ts";

export const storage = feature({
  name: "storage",
  data: { storage: ["storage", "profiles"] },
  events,
  needs: { runs, inventory, credentials },
  open: async (kernel, needs) => {
    const { archivedMonths, storageService, watchStorage } = await import("./service.ts");
    const { config, logger, lifecycle } = kernel;
    const service = storageService({
      ...kernel,
      ledger: needs.runs.ledger,
      runRemoval: needs.runs.removal,
      inventory: needs.inventory.store,
      syncs: needs.inventory.syncs,
      rotations: needs.credentials.log,
      configured: needs.credentials.rotations,
      archiveOf: (run) => needs.runs.service.archiveOf(run),
    });
    return {
      service,
      routes: () => service.endpoints(),
      work: () => lifecycle.onStop("storage", watchStorage(service, logger)),
      readings: async () => {
        const { usedBytes, limitBytes } = await service.memory();
        return [
          { metric: "redisMemory", value: usedBytes, labels: {} },
          { metric: "redisMemoryLimit", value: limitBytes, labels: {} },
        ];
      },
      folders: () => archivedMonths(config.retention.archive),
    };
  },
  commands: {
    storage: {
      group: "operate",
      summary: "Show Redis memory use by kind of data",
      load: async (context) => (await import("./commands.ts")).storageCommand(context),
    },
  },
  reads: ["storage"],
});

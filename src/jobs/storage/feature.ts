/** Storage: how long data is kept in Redis, and how much room it takes. */
import { feature } from "#cli/feature.ts";
import { events } from "./events.ts";
import { credentials } from "#jobs/credentials/feature.ts";
import { inventory } from "#jobs/inventory/feature.ts";

export const storage = feature({
  name: "storage",
  data: { storage: ["storage", "profiles"] },
  events,
  kept: ({ retention }) => ({ profiles: retention.profileDays }),
  needs: { credentials, inventory },
  open: async (kernel, needs) => {
    const { storageService, sweepProfiles, watchStorage } = await import("./service.ts");
    const { logger, lifecycle } = kernel;
    const service = storageService({ ...kernel, ...needs.inventory });
    return {
      service,
      routes: () => service.endpoints(),
      work: (_, host) => lifecycle.onStop("storage", watchStorage(service, logger, host)),
      sweep: (now) => sweepProfiles(now, { ...kernel, ...needs.inventory, rotations: needs.credentials.log }),
      readings: async () => {
        const { usedBytes, limitBytes } = await service.memory();
        return [
          { metric: "redisMemory", value: usedBytes, labels: {} },
          { metric: "redisMemoryLimit", value: limitBytes, labels: {} },
        ];
      },
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

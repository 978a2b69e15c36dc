/** Storage: how long data is kept in Redis, and how much room it takes. */
import type { Feature } from "#cli/feature.ts";

const storageSummary = "Redis memory by kind of data";

export const storage: Feature = {
  name: "storage",
  endpoints: async (app) => (await import("./endpoints.ts")).storageEndpoints(app.storage),
  work: async (app, { logger }) => {
    const { watchStorage } = await import("./watch.ts");
    const stop = watchStorage(app.storage, {
      onSwept: (removed) => logger.info({ removed }, "old data was removed"),
      onProblem: (message) => logger.warn({ job: "storage" }, message),
    });
    app.onClose("storage", stop);
    return [];
  },
  commands: {
    storage: {
      group: "operate",
      summary: storageSummary,
      load: async (context) => (await import("./commands.ts")).storageCommand(context),
    },
  },
  effects: {
    storage: "reads",
  },
};

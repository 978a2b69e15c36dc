/** Storage: how long data is kept in Redis, and how much room it takes. */
import type { Feature } from "#cli/feature.ts";

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
      group: "Operate simfleet:",
      summary: "memory of Redis by kind of data",
      load: async (context) => (await import("./commands.ts")).storageCommand(context),
    },
  },
  effects: {
    storage: "reads",
  },
};

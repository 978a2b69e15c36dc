/** Storage: how long data is kept in Redis, and how much room it takes. */
import type { Feature } from "#cli/feature.ts";
import { storageEndpoints } from "./endpoints.ts";
import { watchStorage } from "./watch.ts";

export const storage: Feature = {
  name: "storage",
  endpoints: (app) => storageEndpoints(app.storage),
  work: (app, { logger }) => {
    const stop = watchStorage(app.storage, {
      onSwept: (removed) => logger.info({ removed }, "old data was removed"),
      onProblem: (message) => logger.warn({ job: "storage" }, message),
    });
    app.onClose("storage", stop);
    return Promise.resolve([]);
  },
  commands: {
    storage: async (context) => (await import("./commands.ts")).storageCommand(context),
  },
  effects: {
    storage: "reads",
  },
};

/** Storage: how long data is kept in Redis, and how much room it takes. */
import type { Feature } from "#cli/feature.ts";
import { storageEndpoints } from "./endpoints.ts";

export const storage: Feature = {
  name: "storage",
  endpoints: (app) => storageEndpoints(app.storage),
  commands: {
    storage: async (context) => (await import("./commands.ts")).storageCommand(context),
  },
  effects: {
    storage: "reads",
  },
};

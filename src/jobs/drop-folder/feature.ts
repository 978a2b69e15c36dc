/** The drop folder: files that become runs. */
import { logIncidents } from "#app/feature.ts";
import type { Feature } from "#cli/feature.ts";

export const dropFolder: Feature = {
  name: "drop-folder",
  work: (app, { logger }) => {
    app.watchDropFolder(logIncidents(logger, { job: "drop-folder" }));
    return Promise.resolve([]);
  },
};

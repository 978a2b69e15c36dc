/** The drop folder: files that become runs. */
import { feature } from "#cli/feature.ts";
import { events } from "./events.ts";
import { logIncidents } from "#kernel/feature.ts";
import { runs } from "#jobs/runs/feature.ts";

export const dropFolder = feature({
  name: "drop-folder",
  section: async () => (await import("./config.ts")).dropFolderSection,
  events,
  needs: { runs },
  checks: (folder) => (folder === undefined ? [] : [{ what: "drop folder", path: folder.path, use: "folder" }]),
  open: (kernel, { runs: { service: runService } }, folder) => ({
    work: async () => {
      const { watchDropFolder } = await import("./work.ts");
      const report = logIncidents(kernel.logger, { job: "drop-folder" });
      return watchDropFolder(folder, { ...kernel, runService, onIncident: (message) => report({ message }) });
    },
  }),
});

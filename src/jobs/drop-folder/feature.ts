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
      if (folder === undefined) return;
      const { droppedFileRuns, DropFolderWork, watchDropFolder } = await import("./work.ts");
      const report = logIncidents(kernel.logger, { job: "drop-folder" });
      const onIncident = (message: string): void => report({ message });
      const fileRuns = droppedFileRuns({ runService, clock: kernel.clock, folder });
      const work = new DropFolderWork({ ...kernel, folder, runs: fileRuns, onIncident });
      const stop = watchDropFolder(work, { clock: kernel.clock, onIncident });
      kernel.lifecycle.onStop("drop folder", stop);
    },
  }),
});

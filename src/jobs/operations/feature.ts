/** SIM operations: the kinds of changes that runs can make. */
import { feature } from "#cli/feature.ts";
import { runs } from "#jobs/runs/feature.ts";

export const operations = feature({
  name: "operations",
  needs: { runs },
  open: (kernel, { runs: { service } }) => ({
    routes: async () => (await import("./endpoints.ts")).operationEndpoints(kernel, service),
  }),
  commands: {
    operations: {
      group: "change",
      summary: "Show the operations that runs can apply to SIMs",
      load: async (context) => (await import("./commands.ts")).operationsCommand(context),
    },
  },
  stores: { "operations list": "makes", "operations show": "makes" },
});

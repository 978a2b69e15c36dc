/** SIM operations: what runs can do to SIMs. */
import type { Feature } from "#cli/feature.ts";

const operationsSummary = "what runs can do to SIMs";

export const operations: Feature = {
  name: "operations",
  endpoints: async (app) =>
    (await import("./endpoints.ts")).operationEndpoints({
      names: () => [...app.runs.operations.keys()],
      operation: (name, profile) => app.runs.operation(name, profile),
      profileOf: (name) => app.profileOf(name),
    }),
  commands: {
    operations: {
      group: "change",
      summary: operationsSummary,
      load: async (context) => (await import("./commands.ts")).operationsCommand(context),
    },
  },
  stores: { "operations list": "makes", "operations show": "makes" },
  effects: {
    "operations list": "reads",
    "operations show": "reads",
  },
};

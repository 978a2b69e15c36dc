/** SIM operations: what runs can do to SIMs. */
import type { Feature } from "#cli/feature.ts";
import { endpoint } from "#contract/route.ts";
import { listOperations, showOperation } from "./contract.ts";
import { reportOfOperation } from "./report.ts";

export const operations: Feature = {
  name: "operations",
  endpoints: (app) => [
    endpoint(listOperations, ({ query }) => {
      const profile = app.profileOf(query.profile);
      const names = [...app.runs.operations.keys()];
      return {
        operations: names.map((name) => reportOfOperation(app.runs.operation(name, profile))),
        nextCursor: null,
      };
    }),
    endpoint(showOperation, ({ params, query }) =>
      reportOfOperation(app.runs.operation(params.operation, app.profileOf(query.profile))),
    ),
  ],
  commands: {
    operations: async (context) => (await import("./commands.ts")).operationsCommand(context),
  },
  effects: {
    "operations list": "reads",
    "operations show": "reads",
  },
};

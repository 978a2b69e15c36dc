/** Runs: bulk changes, from a plan to their results. */
import { logIncidents } from "#app/feature.ts";
import type { Feature } from "#cli/feature.ts";

export const runs: Feature = {
  name: "runs",
  endpoints: async (app, { plans, clock }) =>
    (await import("./endpoints.ts")).runEndpoints({
      runs: app.runs,
      plans,
      clock,
      profileOf: (name) => app.profileOf(name),
      assertUsable: (profile) => void app.client(profile),
    }),
  work: (app, { profiles, logger }) =>
    Promise.all(
      profiles.flatMap((profile) =>
        app.runs
          .bucketsOf(profile)
          .map((bucket) => app.consume({ profile, bucket }, logIncidents(logger, { profile, job: "run" }))),
      ),
    ),
  commands: {
    plan: {
      group: "change",
      summary: "preview the run of a file or filter; makes no API calls",
      load: async (context) => (await import("./commands/plan.ts")).planCommand(context),
    },
    apply: {
      group: "change",
      summary: "change SIMs from a file or filter, with a result for every row",
      load: async (context) => (await import("./commands/apply.ts")).applyCommand(context),
    },
    runs: {
      group: "change",
      summary: "list, show and control runs",
      load: async (context) => (await import("./commands/runs.ts")).runsCommand(context),
    },
  },
  stores: { plan: "makes", apply: "makes" },
  effects: {
    plan: "reads",
    apply: "changes",
    "runs list": "reads",
    "runs show": "reads",
    "runs watch": "reads",
    "runs pause": "changes",
    "runs resume": "changes",
    "runs cancel": "changes",
    "runs retry": "changes",
    "runs undo": "changes",
    "runs approve": "changes",
    "runs results": "reads",
    "runs delete": "changes",
  },
};

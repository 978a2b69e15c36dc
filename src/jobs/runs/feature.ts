/** Runs: bulk changes, from a plan to their results. */
import { feature } from "#cli/feature.ts";
import { events } from "./events.ts";
import { logIncidents } from "#kernel/feature.ts";
import { inventory } from "#jobs/inventory/feature.ts";

/** Runs whose activity is logged; older ones are most likely over. */
const runsLogged = 20;

export const runs = feature({
  name: "runs",
  data: { runs: ["run", "runs", "draft", "plans"] },
  audit: "runs",
  kept: ({ retention: { rowDays, runDays } }) => ({ rows: Math.min(rowDays, runDays), runs: runDays }),
  events,
  needs: { inventory },
  open: async (kernel, needs) => {
    const { openRuns } = await import("./open.ts");
    const opened = openRuns(kernel, needs.inventory);
    const { service } = opened;
    const { logger, lifecycle } = kernel;
    return {
      service: opened,
      routes: async () => (await import("./endpoints.ts")).runEndpoints({ ...kernel, ...opened, runs: service }),
      work: async (profiles) => {
        const { logActivity } = await import("#engine/activity-log.ts");
        const { activityOfRuns } = await import("./report.ts");
        const stop = logActivity(async () => activityOfRuns((await service.list({ limit: runsLogged })).runs), logger);
        lifecycle.onStop("activity of runs", stop);
        return Promise.all(
          profiles.flatMap((profile) =>
            service
              .bucketsOf(profile)
              .map((bucket) => opened.consume({ profile, bucket }, logIncidents(logger, { profile, job: "run" }))),
          ),
        );
      },
      sweep: async (now) => (await import("./removal/sweep.ts")).sweepRuns(now, { ...kernel, ...opened }),
      readings: () => service.census(),
      folders: async () => (await import("./removal/sweep.ts")).archivedMonths(kernel.config.retention.archive),
    };
  },
  commands: {
    demo: {
      group: "start",
      summary: "Run a sample file against a simulated platform",
      load: async (context) => (await import("./commands/demo.ts")).demoCommand(context),
    },
    plan: {
      group: "change",
      summary: "Preview the run of a file or filter; makes no API calls",
      load: async (context) => (await import("./commands/plan.ts")).planCommand(context),
    },
    apply: {
      group: "change",
      summary: "Change SIMs from a file or filter, with a result for every row",
      load: async (context) => (await import("./commands/plan.ts")).applyCommand(context),
    },
    runs: {
      group: "change",
      summary: "List, show and control runs",
      load: async (context) => (await import("./commands/runs.ts")).runsCommand(context),
    },
  },
  stores: { plan: "makes", apply: "makes" },
  // The demo changes SIMs of a sandbox alone.
  reads: ["demo", "plan", "runs watch", "runs results"],
});

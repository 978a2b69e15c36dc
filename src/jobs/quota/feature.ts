/** Quotas: what is left of each bucket. */
import { feature } from "#cli/feature.ts";
import { runs } from "#jobs/runs/feature.ts";

export const quota = feature({
  name: "quota",
  data: { quotas: ["bucket", "buckets", "pace", "quota-owners", "rounding"] },
  needs: { runs },
  open: (kernel, { runs: { service } }) => ({
    routes: async () => (await import("./buckets.ts")).quotaEndpoints(kernel, service),
    readings: async () => (await import("#telemetry/metrics.ts")).quotaReadings(await kernel.limiter.buckets()),
  }),
  commands: {
    quota: {
      group: "fleet",
      summary: "Show quotas: limit, calls left, waiting calls",
      load: async (context) => (await import("./commands.ts")).quotaCommand(context),
    },
  },
  reads: ["quota"],
});

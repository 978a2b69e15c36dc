/** Quotas: what is left of each bucket. */
import { feature } from "#cli/feature.ts";

export const quota = feature({
  name: "quota",
  data: { quotas: ["bucket", "buckets", "pace", "quota-owners"] },
  open: ({ limiter, config }) => {
    const { periodMs } = config.limits;
    return {
      routes: async () => (await import("./buckets.ts")).quotaEndpoints(limiter, periodMs),
      readings: async () => (await import("#telemetry/metrics.ts")).quotaReadings(await limiter.buckets()),
    };
  },
  commands: {
    quota: {
      group: "fleet",
      summary: "quotas of the platform: limit, calls left, waiting calls",
      load: async (context) => (await import("./commands.ts")).quotaCommand(context),
    },
  },
  effects: {
    quota: "reads",
  },
});

/** Quotas: what is left of each bucket. */
import { every } from "#core/time.ts";
import { feature } from "#cli/feature.ts";

export const quota = feature({
  name: "quota",
  data: { quotas: ["bucket", "buckets", "pace", "quota-owners"] },
  open: async ({ limiter, config, clock, lifecycle }) => {
    const { BucketWindows, quotaEndpoints } = await import("./buckets.ts");
    const windows = new BucketWindows();
    const { periodMs } = config.limits;
    return {
      routes: () => quotaEndpoints(limiter, windows, periodMs),
      work: () => {
        const stop = every(periodMs, () => {
          // A value that cannot be read now leaves a gap in a chart, nothing more.
          limiter.buckets().then(
            (buckets) => windows.take(buckets, clock.wallMs()),
            () => undefined,
          );
        });
        lifecycle.onStop("samples of quotas", stop);
      },
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

/** Quotas: what is left of each bucket. */
import type { Feature } from "#cli/feature.ts";

const quotaSummary = "quotas of the platform: limit, calls left, waiting calls";

export const quota: Feature = {
  name: "quota",
  endpoints: async (app, { seenCalls }) =>
    (await import("./endpoints.ts")).quotaEndpoints({ buckets: () => app.runs.buckets(), seenCalls }),
  commands: {
    quota: {
      group: "fleet",
      summary: quotaSummary,
      load: async (context) => (await import("./commands.ts")).quotaCommand(context),
    },
  },
  effects: {
    quota: "reads",
  },
};

/** Quotas: what is left of each bucket. */
import type { Feature } from "#cli/feature.ts";
import { quotaSummary } from "./strings.ts";

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

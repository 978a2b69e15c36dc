/** Quotas: what is left of each bucket. */
import type { Feature } from "#cli/feature.ts";
import { quotaEndpoints } from "./endpoints.ts";

export const quota: Feature = {
  name: "quota",
  endpoints: (app, { seenCalls }) => quotaEndpoints({ buckets: () => app.runs.buckets(), seenCalls }),
  commands: {
    quota: async (context) => (await import("./commands.ts")).quotaCommand(context),
  },
  effects: {
    quota: "reads",
  },
};

/** The audit log: who changed what. */
import type { Feature } from "#cli/feature.ts";

const auditSummary = "audit log: who changed what";

export const audit: Feature = {
  name: "audit",
  endpoints: async (app) => (await import("./endpoints.ts")).auditEndpoints(app.control.audit),
  commands: {
    audit: {
      group: "follow",
      summary: auditSummary,
      load: async (context) => (await import("./commands.ts")).auditCommand(context),
    },
  },
  effects: {
    "audit list": "reads",
  },
};

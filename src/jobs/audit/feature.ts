/** The audit log: who changed what. */
import type { Feature } from "#cli/feature.ts";
import { auditEndpoints } from "./endpoints.ts";

export const audit: Feature = {
  name: "audit",
  endpoints: (app) => auditEndpoints(app.control.audit),
  commands: {
    audit: async (context) => (await import("./commands.ts")).auditCommand(context),
  },
  effects: {
    "audit list": "reads",
  },
};

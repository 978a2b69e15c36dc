/** The audit log: who changed what. */
import { feature } from "#cli/feature.ts";
import { auditKindsOf } from "./kinds.ts";

export const audit = feature({
  name: "audit",
  data: { audit: ["audit"] },
  open: async (kernel) => {
    const { AuditService } = await import("./service.ts");
    const service = new AuditService({ ...kernel, keepMs: kernel.config.audit.keepMs });
    return {
      service,
      routes: async () => (await import("./service.ts")).auditEndpoints(service, auditKindsOf(kernel.features)),
    };
  },
  commands: {
    audit: {
      group: "follow",
      summary: "audit log: who changed what",
      load: async (context) => (await import("./commands.ts")).auditCommand(context),
    },
  },
  effects: {
    "audit list": "reads",
  },
});

/** The audit log: who changed what. */
import { feature } from "#cli/feature.ts";
import { dayMs } from "#core/time.ts";

export const audit = feature({
  name: "audit",
  kept: ({ audit: { keepMs } }) => ({ audit: keepMs / dayMs }),
  open: async (kernel) => {
    const { AuditService, auditEndpoints } = await import("./service.ts");
    const service = new AuditService(kernel);
    return { service, routes: () => auditEndpoints(service, kernel.features) };
  },
  commands: {
    audit: {
      group: "follow",
      summary: "Show the audit log: who changed what",
      load: async (context) => (await import("./commands.ts")).auditCommand(context),
    },
  },
});

/** What answers the route of the audit log. */
import { type Endpoint, endpoint } from "#contract/route.ts";
import { listAudit } from "./contract.ts";
import type { AuditService } from "./service.ts";

export function auditEndpoints(audit: AuditService): readonly Endpoint[] {
  return [endpoint(listAudit, ({ query }) => audit.list(query))];
}

/** What answers the route of the audit log. */
import { parseInstant } from "#core/ago.ts";
import { asList, cursorBefore } from "#contract/fields.ts";
import { type Call, type Endpoint, endpoint } from "#contract/route.ts";
import { exportAudit, listAudit } from "./contract.ts";
import type { AuditQuery } from "./record.ts";
import type { AuditService } from "./service.ts";

export function auditEndpoints(audit: AuditService): readonly Endpoint[] {
  return [
    endpoint(listAudit, ({ query: { limit, cursor, ...query } }) =>
      audit.list({ ...chosenBy(query), limit, ...(cursor === undefined ? {} : { cursor }) }),
    ),
    endpoint(exportAudit, ({ query }) => ({
      format: "csv" as const,
      fileName: "audit.csv",
      lines: audit.export(chosenBy(query)),
    })),
  ];
}

function chosenBy({ since, until, who, kind }: Call<typeof exportAudit>["query"]): Omit<AuditQuery, "limit"> {
  const sinceMs = parseInstant(since);
  return { who, kinds: asList(kind), sinceMs, cursor: cursorBefore(until) };
}

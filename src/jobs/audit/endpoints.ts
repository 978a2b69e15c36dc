/** What answers the route of the audit log. */
import { parseInstant } from "#core/ago.ts";
import { asList, cursorBefore } from "#contract/fields.ts";
import { type Call, type Endpoint, endpoint } from "#contract/route.ts";
import { SimfleetError } from "#core/errors.ts";
import { exportAudit, listAudit } from "./contract.ts";
import type { AuditQuery } from "./record.ts";
import type { AuditService } from "./service.ts";

/** @param kinds those that features declare */
export function auditEndpoints(audit: AuditService, kinds: readonly string[]): readonly Endpoint[] {
  return [
    endpoint(listAudit, ({ query: { limit, cursor, ...query } }) =>
      audit.list({ ...chosenBy(query, kinds), limit, ...(cursor === undefined ? {} : { cursor }) }),
    ),
    endpoint(exportAudit, ({ query }) => ({
      format: "csv" as const,
      fileName: "audit.csv",
      lines: audit.export(chosenBy(query, kinds)),
    })),
  ];
}

/** @throws SimfleetError REQUEST_INVALID for a kind that no feature declares */
function chosenBy(
  { since, until, who, kind }: Call<typeof exportAudit>["query"],
  kinds: readonly string[],
): Omit<AuditQuery, "limit"> {
  const chosen = asList(kind);
  const unknown = chosen?.find((name) => !kinds.includes(name));
  if (unknown !== undefined) {
    throw new SimfleetError("REQUEST_INVALID", `There is no kind ${unknown}; known: ${kinds.join(", ")}`);
  }
  return { who, kinds: chosen, sinceMs: parseInstant(since), cursor: cursorBefore(until) };
}

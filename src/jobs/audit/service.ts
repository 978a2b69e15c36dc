/** The audit log: who did what, when, and how it ended. */
import { csvLine } from "#intake/cell.ts";
import { type AuditEntry, exportAudit, listAudit } from "./contract.ts";
import type { AuditIntent, AuditLog, AuditQuery, AuditRecord, AuditResult } from "./record.ts";
import { parseInstant } from "#core/ago.ts";
import { asList, cursorBefore } from "#contract/fields.ts";
import { type Call, type Endpoint, endpoint } from "#contract/route.ts";
import { SimfleetError } from "#core/errors.ts";

export type { AuditIntent, AuditResult } from "./record.ts";

const exportedAtOnce = 500;
const columns = ["at", "who", "role", "action", "target", "result", "status", "exitCode", "from", "requestId"] as const;

export class AuditService {
  readonly #log: AuditLog;

  constructor(log: AuditLog) {
    this.#log = log;
  }

  /** Records a change before it is made. @throws SimfleetError AUDIT_UNAVAILABLE: the change must not be made then */
  begin(intent: AuditIntent): Promise<string> {
    return this.#log.begin(intent);
  }

  /** Adds the result. */
  finish(id: string, result: AuditResult): Promise<void> {
    return this.#log.finish(id, result);
  }

  /** Records a change that was refused before it could have any effect. */
  note(intent: AuditIntent, result: AuditResult): Promise<void> {
    return this.#log.note(intent, result);
  }

  /** Newest first. */
  async list(query: AuditQuery): Promise<{ entries: AuditEntry[]; nextCursor: string | null }> {
    const { records, nextCursor } = await this.#log.newest(query);
    return { entries: records.map(entryOf), nextCursor };
  }

  /** All entries as a CSV file, newest first, in constant memory. */
  async *export(query: Omit<AuditQuery, "limit">): AsyncGenerator<string> {
    yield csvLine(columns);
    let cursor = query.cursor;
    do {
      const page = await this.list({ ...query, cursor, limit: exportedAtOnce });
      yield page.entries.map((entry) => csvLine(columns.map((name) => String(entry[name] ?? "")))).join("");
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
  }
}

function entryOf({ id, who, role, action, target, requestId, from, result }: AuditRecord): AuditEntry {
  const about = result?.target ?? target;
  return {
    id,
    at: new Date(Number(id.split("-", 1)[0])).toISOString(),
    who: who === "" ? null : who,
    role: role === "" ? null : role,
    action,
    target: about === "" ? null : about,
    result: wordOf(result),
    status: result?.status ?? null,
    exitCode: result?.exitCode ?? null,
    requestId,
    from,
  };
}

function wordOf(result: AuditResult | undefined): AuditEntry["result"] {
  if (result === undefined) return "not recorded";
  const { status, exitCode } = result;
  if (status !== undefined && status >= 400) return status < 500 ? "refused" : "failed";
  return exitCode === undefined || exitCode === 0 ? "done" : "failed";
}

// What answers the route of the audit log.

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

/** The front desk for the record of changes: who did what, when, and whether it was allowed. */
import type { AuditLog, AuditRecord } from "#store/audit-log.ts";

export interface AuditEntry {
  readonly id: string;
  /** ISO 8601, UTC. */
  readonly at: string;
  /** Null: nobody was made known. */
  readonly who: string | null;
  readonly role: string | null;
  readonly action: string;
  readonly target: string | null;
  readonly status: number;
  readonly requestId: string;
  readonly from: string;
}

export class AuditDesk {
  readonly #log: AuditLog;

  constructor(log: AuditLog) {
    this.#log = log;
  }

  note(record: AuditRecord): Promise<void> {
    return this.#log.add(record);
  }

  /** Newest first. */
  async list(ask: {
    limit: number;
    cursor?: string | undefined;
  }): Promise<{ entries: AuditEntry[]; nextCursor: string | null }> {
    const { records, nextCursor } = await this.#log.newest(ask);
    return { entries: records.map(entryOf), nextCursor };
  }
}

function entryOf({ id, who, role, action, target, status, requestId, from }: AuditRecord & { id: string }): AuditEntry {
  return {
    ...{ id, action, requestId, from, status: Number(status) },
    at: new Date(Number(id.split("-", 1)[0])).toISOString(),
    who: who === "" ? null : who,
    role: role === "" ? null : role,
    target: target === "" ? null : target,
  };
}

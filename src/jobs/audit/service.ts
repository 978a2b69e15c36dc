/** The audit log: who did what, when, and how it ended. */
import { SimfleetError } from "#core/errors.ts";
import type { AuditIntent, AuditLog, AuditRecord, AuditResult } from "./record.ts";

export type { AuditIntent, AuditResult } from "./record.ts";

export interface AuditEntry {
  readonly id: string;
  /** ISO 8601, UTC. */
  readonly at: string;
  /** Null: the user is not known. */
  readonly who: string | null;
  readonly role: string | null;
  /** `POST /v1/runs/:runId/cancel`, `simfleet runs cancel` */
  readonly action: string;
  readonly target: string | null;
  /** `not recorded`: the process ended before the result could be written, or the change is still in progress. */
  readonly result: "done" | "refused" | "failed" | "not recorded";
  /** HTTP status; null for a command, and if not recorded. */
  readonly status: number | null;
  /** Exit code of a command; null for a request, and if not recorded. */
  readonly exitCode: number | null;
  readonly requestId: string;
  /** Address of the client, or name of the machine on which the command was run. */
  readonly from: string;
}

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

  /** Newest first. @throws SimfleetError REQUEST_INVALID for an invalid cursor */
  async list(ask: {
    limit: number;
    cursor?: string | undefined;
  }): Promise<{ entries: AuditEntry[]; nextCursor: string | null }> {
    const { cursor } = ask;
    if (cursor !== undefined && !/^\d{1,15}-\d{1,10}$/.test(cursor)) {
      throw new SimfleetError(
        "REQUEST_INVALID",
        `${JSON.stringify(cursor)} is not a valid cursor: use the nextCursor of the previous page`,
      );
    }
    const { records, nextCursor } = await this.#log.newest(ask);
    return { entries: records.map(entryOf), nextCursor };
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

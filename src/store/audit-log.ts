/**
 * The record of who changed what: a Redis stream that is only added to, and let go of after the time that the
 * configuration says, never sooner.
 */
import type { Redis } from "ioredis";
import type { Clock } from "#core/time.ts";
import type { Keys } from "#redis/keys.ts";

/** One request that changed something, or would have. Without secrets and without what was handed over. */
export interface AuditRecord {
  /** `token:ci`, `jwt:anna`; empty where nobody was made known. */
  readonly who: string;
  readonly role: string;
  /** `POST /v1/runs/:runId/cancel` */
  readonly action: string;
  /** What it was about, or what it made: a run's id, a profile. */
  readonly target: string;
  readonly status: string;
  readonly requestId: string;
  /** Address that the request came from. */
  readonly from: string;
}

export class AuditLog {
  readonly #redis: Redis;
  readonly #key: string;
  readonly #clock: Clock;
  readonly #keepMs: number;

  constructor(parts: { redis: Redis; keys: Keys; clock: Clock; keepMs: number }) {
    this.#redis = parts.redis;
    this.#key = parts.keys.audit();
    this.#clock = parts.clock;
    this.#keepMs = parts.keepMs;
  }

  async add(record: AuditRecord): Promise<void> {
    const oldest = Math.max(0, this.#clock.wallMs() - this.#keepMs);
    const pairs: string[] = Object.entries<string>({ ...record }).flat();
    await this.#redis.xadd(this.#key, "MINID", "~", oldest, "*", ...pairs);
  }

  /** Newest first. @param ask `cursor` is the id of the last one that is known */
  async newest(ask: {
    limit: number;
    cursor?: string | undefined;
  }): Promise<{ records: (AuditRecord & { id: string })[]; nextCursor: string | null }> {
    const before = ask.cursor === undefined ? "+" : `(${ask.cursor}`;
    const entries = await this.#redis.xrevrange(this.#key, before, "-", "COUNT", ask.limit + 1);
    const records = entries.slice(0, ask.limit).map(([id, pairs]) => ({ id, ...recordOf(pairs) }));
    return { records, nextCursor: entries.length > ask.limit ? (records.at(-1)?.id ?? null) : null };
  }
}

function recordOf(pairs: readonly string[]): AuditRecord {
  const fields: Record<string, string> = {};
  for (let at = 0; at + 1 < pairs.length; at += 2) fields[pairs[at] ?? ""] = pairs[at + 1] ?? "";
  const { who = "", role = "", action = "", target = "", status = "", requestId = "", from = "" } = fields;
  return { who, role, action, target, status, requestId, from };
}

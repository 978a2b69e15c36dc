/**
 * The record of who changed what: a Redis stream that is only added to, and let go of after the time that the
 * configuration says, never sooner. A change has its entry before it is made; its result is added afterwards, in a sorted
 * set by the instant of the entry, and neither is ever written over. An entry without a result is one whose process ended
 * in between, or whose change is still in progress.
 */
import type { Redis } from "ioredis";
import { SimfleetError, messageOf } from "#core/errors.ts";
import { type Clock, secondMs } from "#core/time.ts";
import type { Keys } from "#redis/keys.ts";
import { inWordsOfRedis } from "#redis/refusal.ts";

/** Who is about to change what. Without secrets and without what was handed over. */
export interface AuditIntent {
  /** `token:ci`, `jwt:anna`, `cli:anna`; empty where nobody was made known. */
  readonly who: string;
  readonly role: string;
  /** `POST /v1/runs/:runId/cancel`, `simfleet runs cancel` */
  readonly action: string;
  /** What it is about: a run's id, a profile. */
  readonly target: string;
  readonly requestId: string;
  /** Address that the request came from, or name of the machine on which the command was given. */
  readonly from: string;
}

/** How a change ended: with the status of an answer, or with the exit code of a command. */
export interface AuditResult {
  readonly status?: number | undefined;
  readonly exitCode?: number | undefined;
  /** What was made, where it has a name of its own. */
  readonly target?: string | undefined;
}

export interface AuditRecord extends AuditIntent {
  readonly id: string;
  /** Absent: not recorded. */
  readonly result: AuditResult | undefined;
}

/** A change waits no longer for its entry: it is refused. */
const patienceMs = 5 * secondMs;

export class AuditLog {
  readonly #redis: Redis;
  readonly #keys: Keys;
  readonly #clock: Clock;
  readonly #keepMs: number;

  constructor(deps: { redis: Redis; keys: Keys; clock: Clock; keepMs: number }) {
    this.#redis = deps.redis;
    this.#keys = deps.keys;
    this.#clock = deps.clock;
    this.#keepMs = deps.keepMs;
  }

  /**
   * Writes down what is about to be done.
   * @returns the entry's id
   * @throws SimfleetError AUDIT_UNAVAILABLE when it cannot be written: the change must not be made then
   */
  async begin(intent: AuditIntent): Promise<string> {
    try {
      return await this.#inTime(this.#add(intent));
    } catch (thrown) {
      throw new SimfleetError(
        "AUDIT_UNAVAILABLE",
        `The audit entry could not be written, so nothing was changed: ${messageOf(inWordsOfRedis(thrown))}`,
        { cause: thrown },
      );
    }
  }

  /** Adds the result to an entry; the first one stands. */
  async finish(id: string, result: AuditResult): Promise<void> {
    const key = this.#keys.auditResults();
    await this.#inTime(this.#redis.zadd(key, "NX", instantOf(id), `${id} ${JSON.stringify(result)}`));
    await this.#redis.zremrangebyscore(key, "-inf", `(${this.#oldest()}`);
  }

  /** Adds an entry and its result at once: of a request that was refused before it could change anything. */
  async note(intent: AuditIntent, result: AuditResult): Promise<void> {
    await this.#add({ ...intent, result: JSON.stringify(result) });
  }

  /** Newest first. @param ask `cursor` is the id of the last one that is known */
  async newest(ask: {
    limit: number;
    cursor?: string | undefined;
  }): Promise<{ records: AuditRecord[]; nextCursor: string | null }> {
    const before = ask.cursor === undefined ? "+" : `(${ask.cursor}`;
    const entries = await this.#redis.xrevrange(this.#keys.audit(), before, "-", "COUNT", ask.limit + 1);
    const shown = entries.slice(0, ask.limit);
    const results = await this.#results(shown.map(([id]) => id));
    const records = shown.map(([id, pairs]) => recordOf(id, pairs, results.get(id)));
    return { records, nextCursor: entries.length > ask.limit ? (records.at(-1)?.id ?? null) : null };
  }

  async #add(fields: AuditIntent & { readonly result?: string }): Promise<string> {
    const pairs = Object.entries<string>({ ...fields }).flat();
    const id = await this.#redis.xadd(this.#keys.audit(), "MINID", "~", this.#oldest(), "*", ...pairs);
    if (id === null) throw new Error("Redis added no entry");
    return id;
  }

  /** The results of entries that follow one another, by id. */
  async #results(ids: readonly string[]): Promise<Map<string, AuditResult>> {
    const [newest, oldest] = [ids[0], ids.at(-1)];
    if (newest === undefined || oldest === undefined) return new Map();
    const members = await this.#redis.zrangebyscore(this.#keys.auditResults(), instantOf(oldest), instantOf(newest));
    const results = members.map((member) => {
      const end = member.indexOf(" ");
      return [member.slice(0, end), JSON.parse(member.slice(end + 1)) as AuditResult] as const;
    });
    // The first of an entry stands, should there ever be two.
    return new Map(results.toReversed());
  }

  /** Commands wait for a lost connection for ever; whoever makes a change does not. */
  async #inTime<T>(written: Promise<T>): Promise<T> {
    const late = new AbortController();
    try {
      return await Promise.race([
        written,
        this.#clock
          .sleep(patienceMs, late.signal)
          .then(() => Promise.reject(new Error(`Redis did not answer within ${patienceMs / secondMs} s`))),
      ]);
    } finally {
      late.abort();
    }
  }

  #oldest(): number {
    return Math.max(0, this.#clock.wallMs() - this.#keepMs);
  }
}

/** Redis's clock, ms, at the moment when the entry was added. */
function instantOf(id: string): number {
  return Number(id.split("-", 1)[0]);
}

function recordOf(id: string, pairs: readonly string[], result: AuditResult | undefined): AuditRecord {
  const fields: Record<string, string> = {};
  for (let at = 0; at + 1 < pairs.length; at += 2) fields[pairs[at] ?? ""] = pairs[at + 1] ?? "";
  const { who = "", role = "", action = "", target = "", requestId = "", from = "" } = fields;
  const own = fields.result === undefined ? undefined : (JSON.parse(fields.result) as AuditResult);
  return { id, who, role, action, target, requestId, from, result: own ?? result };
}

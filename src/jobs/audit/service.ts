/**
 * The audit log: who did what, when, and how it ended. It is an append-only Redis stream. Entries are removed after the
 * configured retention, never sooner. An entry is written before its change is made; the result is added afterwards to
 * a sorted set, scored by the entry's time. Neither is ever overwritten. An entry without a result means that the
 * process ended in between, or that the change is still in progress.
 */
import { olderThan } from "#events/feed.ts";
import { parseInstant } from "#core/ago.ts";
import { SimfleetError, messageOf } from "#core/errors.ts";
import { inTime, secondMs } from "#core/time.ts";
import { asList, cursorBefore, type RecordOf, reportOf } from "#contract/fields.ts";
import { type Call, type Endpoint, endpoint } from "#contract/route.ts";
import { csvLine } from "#intake/cell.ts";
import type { Kernel } from "#kernel/kernel.ts";
import { inWordsOfRedis } from "#redis/node.ts";
import { type AuditEntry, auditEntry, auditKindsOf, exportAudit, listAudit } from "./contract.ts";

/**
 * Who is about to change what, without secrets and without the request's content: fields of an entry, empty where the
 * entry has null. `kind`: as the feature declares it, such as `runs`.
 */
export type AuditIntent = Readonly<
  Record<"who" | "role" | "action" | "did" | "target" | "from" | "requestId" | "kind", string>
>;

/** The result of a change: the status of a response, or the exit code of a command. `target`: what it made */
type AuditResult = Pick<RecordOf<AuditEntry>, "status" | "exitCode" | "about"> & {
  readonly target?: string | undefined;
};

/** `cursor`: the id of the last entry of the previous page */
type AuditQuery = Partial<ReturnType<typeof chosenBy>>;

const readAtOnce = 500;
const exportedAtOnce = 500;
const columns = Object.keys(auditEntry.omit({ id: true, did: true }).shape) as (keyof AuditEntry)[];
/** A page ends after this many entries were scanned, whether they match or not. */
const maxScanned = 50_000;

/** How long a change waits for its entry before it is rejected. */
const patienceMs = 5 * secondMs;

type AuditDeps = Pick<Kernel, "redis" | "keys" | "clock" | "config">;

export class AuditService {
  readonly #deps: AuditDeps;
  readonly #key: string;
  /** Sorted set: id and result of entries, by the time of the entry. */
  readonly #resultsKey: string;

  constructor(deps: AuditDeps) {
    this.#deps = deps;
    this.#key = deps.keys.of("audit");
    this.#resultsKey = deps.keys.of("audit", "results");
  }

  /**
   * Records a change before it is made.
   * @returns the entry's id
   * @throws SimfleetError AUDIT_UNAVAILABLE if it cannot be written: the change must not be made then
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

  /** Adds the result to an entry; the first result is final. */
  async finish(id: string, result: AuditResult): Promise<void> {
    const key = this.#resultsKey;
    await this.#inTime(this.#deps.redis.zadd(key, "NX", toInstant(id), `${id} ${JSON.stringify(result)}`));
    await this.#deps.redis.zremrangebyscore(key, "-inf", `(${this.#oldest()}`);
  }

  /** Adds an entry with its result, for a request that was rejected before it could change anything. */
  async note(intent: AuditIntent, result: AuditResult): Promise<void> {
    await this.#add({ ...intent, result: JSON.stringify(result) });
  }

  /** Newest first. */
  async list(query: AuditQuery & { readonly limit: number }) {
    const { limit, sinceMs, who, kinds } = query;
    const oldest = sinceMs === undefined ? "-" : String(Math.max(0, Math.floor(sinceMs)));
    const found: AuditEntry[] = [];
    let cursor = query.cursor;
    for (let scanned = 0; scanned < maxScanned; scanned += readAtOnce) {
      const end = cursor === undefined ? "+" : olderThan(cursor);
      const entries = await this.#deps.redis.xrevrange(this.#key, end, oldest, "COUNT", readAtOnce);
      const results = await this.#results(entries.map(([id]) => id));
      for (const [at, [id, pairs]] of entries.entries()) {
        const fields = fieldsIn(pairs);
        if (who !== undefined && fields.who !== who) continue;
        if (kinds !== undefined && !kinds.includes(fields.kind ?? "")) continue;
        found.push(toEntry(id, fields, results.get(id)));
        const isLast = entries.length < readAtOnce && at === entries.length - 1;
        if (found.length === limit) return { entries: found, nextCursor: isLast ? null : id };
      }
      if (entries.length < readAtOnce) return { entries: found, nextCursor: null };
      cursor = entries.at(-1)?.[0];
    }
    return { entries: found, nextCursor: cursor ?? null };
  }

  /** All entries as a CSV file, newest first, in constant memory. */
  async *export(query: AuditQuery): AsyncGenerator<string> {
    yield csvLine(columns);
    let cursor = query.cursor;
    do {
      const page = await this.list({ ...query, cursor, limit: exportedAtOnce });
      yield page.entries.map((entry) => csvLine(columns.map((name) => String(entry[name] ?? "")))).join("");
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
  }

  async #add(fields: AuditIntent & { readonly result?: string }): Promise<string> {
    const pairs = Object.entries<string>({ ...fields }).flat();
    const id = await this.#deps.redis.xadd(this.#key, "MINID", "~", this.#oldest(), "*", ...pairs);
    if (id === null) throw new Error("Redis added no entry");
    return id;
  }

  async #results(ids: readonly string[]): Promise<Map<string, AuditResult>> {
    const [newest, oldest] = [ids[0], ids.at(-1)];
    if (newest === undefined || oldest === undefined) return new Map();
    const members = await this.#deps.redis.zrangebyscore(this.#resultsKey, toInstant(oldest), toInstant(newest));
    const results = members.map((member) => {
      const end = member.indexOf(" ");
      return [member.slice(0, end), JSON.parse(member.slice(end + 1)) as AuditResult] as const;
    });
    // If there are ever two results of an entry, the first one counts.
    return new Map(results.toReversed());
  }

  /** Redis commands wait indefinitely for a lost connection; a change must not. */
  async #inTime<T>(written: Promise<T>): Promise<T> {
    const answer = await inTime(this.#deps.clock, patienceMs, written);
    if (answer === undefined) throw new Error(`Redis did not respond within ${patienceMs / secondMs} s`);
    return answer.value;
  }

  #oldest(): number {
    return Math.max(0, this.#deps.clock.wallMs() - this.#deps.config.audit.keepMs);
  }
}

/** Time at which the entry was added, ms by Redis's clock. */
function toInstant(id: string): number {
  return Number(id.split("-", 1)[0]);
}

function fieldsIn(pairs: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(pairs.flatMap((name, at) => (at % 2 === 0 ? [[name, pairs[at + 1] ?? ""]] : [])));
}

/** @param later the result that was added after the entry; one that was rejected at once has its own */
function toEntry(id: string, fields: Readonly<Record<string, string>>, later: AuditResult | undefined): AuditEntry {
  const { action = "", requestId = "", from = "", who, role, did, target } = fields;
  const result = fields.result === undefined ? later : (JSON.parse(fields.result) as AuditResult);
  const made = result?.target;
  return reportOf(auditEntry, {
    ...result,
    id,
    at: new Date(toInstant(id)).toISOString(),
    who: who || null,
    role: role || null,
    action,
    did: did || null,
    target: target || made,
    made,
    result: describeResult(result),
    requestId,
    from,
  });
}

function describeResult(result: AuditResult | undefined): AuditEntry["result"] {
  if (result === undefined) return "not recorded";
  const { status, exitCode } = result;
  if (status !== undefined && status >= 400) return status < 500 ? "rejected" : "failed";
  return exitCode === undefined || exitCode === 0 ? "done" : "failed";
}

// What answers the route of the audit log.

export function auditEndpoints(audit: AuditService, features: Parameters<typeof auditKindsOf>[0]): readonly Endpoint[] {
  const kinds = auditKindsOf(features);
  return [
    endpoint(listAudit, async ({ query: { limit, cursor, ...query } }) => ({
      ...(await audit.list({ ...chosenBy(query, kinds), limit, ...(cursor === undefined ? {} : { cursor }) })),
      kinds,
    })),
    endpoint(exportAudit, ({ query }) => ({
      format: "csv" as const,
      fileName: "audit.csv",
      lines: audit.export(chosenBy(query, kinds)),
    })),
  ];
}

/** @throws SimfleetError REQUEST_INVALID for a kind that no feature declares */
function chosenBy({ since, until, who, kind }: Call<typeof exportAudit>["query"], kinds: readonly string[]) {
  const chosen = asList(kind);
  const unknown = chosen?.find((name) => !kinds.includes(name));
  if (unknown !== undefined) {
    throw new SimfleetError("REQUEST_INVALID", `There is no kind ${unknown}; known: ${kinds.join(", ")}`);
  }
  return { who, kinds: chosen, sinceMs: parseInstant(since), cursor: cursorBefore(until) };
}

/**
 * Operations on the inventory, shared by the CLI and the HTTP API.
 */
import type { Clock } from "#core/time.ts";
import type { Feed, EventQuery } from "#events/feed.ts";
import { type Filter, everySim } from "#fleet/filter.ts";
import { documentOf } from "#fleet/sim/sim-fields.ts";
import type { FieldValue } from "#fleet/sim/field-text.ts";
import { type KeyColumn, type Wording, keyColumnOf } from "#fleet/sim/sim.ts";
import type { ProfileJobs } from "#engine/queue/work-queues.ts";
import {
  type FoundSim,
  type Inventory,
  type InventoryFacts,
  type SimPresence,
  fieldTextOf,
} from "./store/inventory.ts";
import type { SyncLog, SyncState } from "./store/sync-record.ts";
import {
  type Change,
  type FleetReport,
  type SimCount,
  type SimCounts,
  type SimDocument,
  type SimField,
  type SimPage,
  type SyncReport,
  type ChangeType,
  type Counts,
  changeTypes,
} from "./contract.ts";
import { countSims, fieldsOf, namesOfRecord, orderOf, sortedPage } from "./explore.ts";
import { assertFieldsKnown, assertNamesKnown } from "./filter-fields.ts";
import type { Event } from "#events/event.ts";
import { SimfleetError } from "#core/errors.ts";
import { csvLine } from "#intake/cell.ts";
import { randomInt } from "node:crypto";
import { reportOfProblem } from "#engine/problem.ts";
import type { Activity } from "#engine/activity-log.ts";

const countLimitMs = 1_000;

export interface SimQuery {
  readonly filter?: Filter | undefined;
  readonly presence?: SimPresence;
  readonly limit: number;
  readonly cursor?: string | undefined;
  readonly search?: string | undefined;
  /** A field, with `-` before it for the reverse order; by default the last discovered SIM is first. */
  readonly sort?: string | undefined;
}

export class SimService {
  readonly #inventory: Inventory;
  readonly #syncs: SyncLog;
  readonly #queues: ProfileJobs;
  readonly #feed: Feed;
  readonly #wordingOf: (profile: string) => Wording;

  constructor(deps: {
    inventory: Inventory;
    syncs: SyncLog;
    syncQueues: ProfileJobs;
    feed: Feed;
    wordingOf: (profile: string) => Wording;
  }) {
    this.#inventory = deps.inventory;
    this.#syncs = deps.syncs;
    this.#queues = deps.syncQueues;
    this.#feed = deps.feed;
    this.#wordingOf = deps.wordingOf;
  }

  /**
   * Begins a sync, or resumes an interrupted one. The consumer of the profile's syncs, usually a worker, carries it out.
   * @param order `by`: who requests it
   */
  async sync(profile: string, order: { by: string; mode?: "resume" | "restart" }): Promise<SyncReport> {
    const { by, mode = "resume" } = order;
    const state = await this.#syncs.begin(profile, newSyncId(await this.#syncs.nowMs()), mode, by);
    await this.#queues.enqueue(profile, "now");
    return reportOfSync(profile, state);
  }

  /** The sync in progress, or the last one; undefined if there never was one. */
  async syncReport(profile: string): Promise<SyncReport | undefined> {
    const state = await this.#syncs.state(profile);
    return state === undefined ? undefined : reportOfSync(profile, state);
  }

  /** Whether a live process handles the syncs of the profile. */
  isServed(profile: string): Promise<boolean> {
    return this.#queues.isServed(profile);
  }

  facts(profile: string): Promise<InventoryFacts> {
    return this.#inventory.facts(profile);
  }

  /** Counts the fleet now. */
  async fleet(profile: string): Promise<FleetReport> {
    const lastSync = await this.syncReport(profile);
    const atMs = await this.#syncs.nowMs();
    return countFleet(this.#inventory, { profile, keyColumn: this.#keyColumn(profile), lastSync, atMs });
  }

  /**
   * Lists the SIMs that a filter selects, most recently discovered first unless another order is requested.
   * @throws SimfleetError USAGE for an invalid cursor, a field that no SIM has, or too many SIMs to sort by it
   */
  async list(profile: string, query: SimQuery): Promise<SimPage> {
    const { filter = everySim, presence = "listed", limit, cursor, search, sort } = query;
    if (sort !== undefined) return this.#sorted(profile, { ...query, sort });
    if (cursor !== undefined && !/^\d{1,15}$/.test(cursor)) {
      throw new SimfleetError(
        "USAGE",
        `${JSON.stringify(cursor)} is not a valid cursor: use the nextCursor of the previous page`,
      );
    }
    const keyColumn = this.#keyColumn(profile);
    await assertFieldsKnown(this.#inventory, { profile, filter, keyColumn });
    const from = cursor === undefined ? undefined : Number(cursor);
    const facts = await this.facts(profile);
    const sims: FoundSim[] = [];
    for await (const found of this.#inventory.scan(profile, filter, {
      order: "newest-first",
      presence,
      from,
      keyColumn,
      search,
    })) {
      sims.push(...found);
      if (sims.length > limit) break;
    }
    const shown = sims.slice(0, limit);
    return {
      sims: shown.map((found) => documentOfSim(found, { keyColumn, facts })),
      nextCursor: sims.length > limit ? String(sims[limit]?.sim.ordinal ?? 0) : null,
      isComplete: facts.isComplete,
    };
  }

  /** Counts the SIMs that a filter selects. @throws SimfleetError USAGE for a field that no SIM has, or with too many values */
  async countBy(
    profile: string,
    query: { filter: Filter; presence: SimPresence; field?: string | undefined },
  ): Promise<SimCounts> {
    const keyColumn = this.#keyColumn(profile);
    const { filter, field } = query;
    const conditions = [...filter.conditions, ...(field === undefined ? [] : [{ kind: "exists", field } as const])];
    await assertFieldsKnown(this.#inventory, { profile, filter: { ...filter, conditions }, keyColumn });
    const { isComplete } = await this.facts(profile);
    return { isComplete, ...(await countByValue(this.#inventory, { ...query, profile, keyColumn })) };
  }

  async #sorted(profile: string, query: SimQuery & { readonly sort: string }): Promise<SimPage> {
    const { filter = everySim, presence = "listed", sort, ...page } = query;
    const keyColumn = this.#keyColumn(profile);
    await assertFieldsKnown(this.#inventory, { profile, filter, keyColumn });
    const order = orderOf(sort);
    await assertNamesKnown(this.#inventory, { profile, fields: [order.field], keyColumn, others: namesOfRecord });
    const facts = await this.facts(profile);
    const { limit, cursor, search } = page;
    const { found, nextCursor } = await sortedPage(
      { inventory: this.#inventory, profile },
      { filter, presence, keyColumn, search },
      { order, limit, cursor },
    );
    return {
      sims: found.map((one) => documentOfSim(one, { keyColumn, facts })),
      nextCursor,
      isComplete: facts.isComplete,
    };
  }

  /** Counts the SIMs that a filter selects, for at most about a second. @throws SimfleetError USAGE for a field that no SIM has */
  async count(
    profile: string,
    query: Pick<SimQuery, "filter" | "presence" | "search">,
    clock: Clock,
  ): Promise<SimCount> {
    const { filter = everySim, presence = "listed", search } = query;
    const keyColumn = this.#keyColumn(profile);
    await assertFieldsKnown(this.#inventory, { profile, filter, keyColumn });
    const selection = { filter, presence, keyColumn, search };
    return countSims({ inventory: this.#inventory, profile }, selection, { clock, limitMs: countLimitMs });
  }

  /** The fields of the inventory and their known values. */
  fields(profile: string): Promise<SimField[]> {
    return fieldsOf({ inventory: this.#inventory, profile }, this.#keyColumn(profile));
  }

  /** @throws SimfleetError NOT_FOUND if the SIM is not in the inventory */
  async show(profile: string, key: string): Promise<SimDocument> {
    const sim = await this.#inventory.sim(profile, key);
    if (sim === undefined) {
      throw new SimfleetError("NOT_FOUND", `${key} is not in the inventory; update it with: simfleet sims sync`);
    }
    return documentOfSim({ key, sim }, { keyColumn: this.#keyColumn(profile), facts: await this.facts(profile) });
  }

  /** Exports all SIMs that a filter selects, line by line, in constant memory. @throws SimfleetError USAGE for a field that no SIM has */
  async export(
    profile: string,
    options: {
      filter?: Filter | undefined;
      presence?: SimPresence;
      format: ExportFormat;
      columns?: readonly string[] | undefined;
    },
  ): Promise<AsyncGenerator<string>> {
    const { filter = everySim, presence = "listed", columns = [] } = options;
    const keyColumn = this.#keyColumn(profile);
    await assertFieldsKnown(this.#inventory, { profile, filter, keyColumn });
    await assertNamesKnown(this.#inventory, { profile, fields: columns, keyColumn, others: timeColumns });
    const facts = await this.facts(profile);
    const scanned = this.#inventory.scan(profile, filter, { presence, keyColumn });
    return exportLines(scanned, { ...options, keyColumn, fields: facts.fields }, (found) =>
      documentOfSim(found, { keyColumn, facts }),
    );
  }

  /** Lists changes, newest first. */
  changes(
    profile: string,
    query: ChangeQuery,
    page: { limit: number; cursor?: string | undefined },
  ): Promise<{ changes: Change[]; nextCursor: string | null }> {
    return changesOf(this.#feed, { ...query, profile }, page);
  }

  #keyColumn(profile: string): KeyColumn {
    return keyColumnOf(this.#wordingOf(profile));
  }
}

function documentOfSim(
  { key, sim }: FoundSim,
  { keyColumn, facts }: { keyColumn: KeyColumn; facts: InventoryFacts },
): SimDocument {
  const { fields, addedAtMs, updatedAtMs, updatedBy, goneAtMs } = sim;
  // A sync writes nothing for an unchanged SIM, but has seen it all the same.
  const listedAtMs = goneAtMs === undefined ? (facts.listedAtMs ?? 0) : 0;
  return {
    [keyColumn]: key,
    ...documentOf(fields),
    addedAt: instant(addedAtMs),
    updatedAt: instant(updatedAtMs),
    updatedBy,
    seenAt: instant(Math.max(updatedAtMs, listedAtMs)),
    goneAt: goneAtMs === undefined ? null : instant(goneAtMs),
  };
}

function instant(ms: number): string {
  return new Date(ms).toISOString();
}

// Changes of the fleet, for display and JSON: the inventory's events, newest first.

interface ChangeQuery {
  readonly types?: readonly ChangeType[] | undefined;
  readonly sim?: string | undefined;
  readonly field?: string | undefined;
  readonly by?: "run" | "external" | undefined;
  readonly sinceMs?: number | undefined;
}

export async function changesOf(
  feed: Feed,
  query: ChangeQuery & { readonly profile: string },
  page: { limit: number; cursor?: string | undefined },
): Promise<{ changes: Change[]; nextCursor: string | null }> {
  const { profile, types = changeTypes, sim, field, by, sinceMs } = query;
  const asked: EventQuery = {
    profile,
    types,
    sinceMs,
    fields: {
      sim,
      by,
      field,
    },
  };
  const { events, nextCursor } = await feed.newest(asked, page);
  return { changes: events.map(changeOf), nextCursor };
}

function changeOf({ id, type, atMs, fields, values = {} }: Event): Change {
  const { sim = "", field, by, cause = "" } = fields;
  return {
    id,
    at: new Date(atMs).toISOString(),
    type: type as ChangeType,
    sim,
    ...(field === undefined ? {} : { field, before: plainOf(values.before), after: plainOf(values.after) }),
    by: by === "run" ? "run" : "external",
    cause,
  };
}

function plainOf(value: FieldValue | undefined): unknown {
  if (value === undefined) return null;
  return "text" in value ? value.text : JSON.parse(value.json);
}

// Counts SIMs by the value of a field, from the index or from the records, in bounded memory.

/** More values are no help to a person, and take memory. */
const maxValues = 10_000;

/** @throws SimfleetError USAGE for a field with too many values */
export async function countByValue(
  inventory: Pick<Inventory, "scan" | "counts">,
  query: {
    readonly profile: string;
    readonly keyColumn: KeyColumn;
    readonly filter: Filter;
    readonly presence: SimPresence;
    readonly field?: string | undefined;
  },
  max = maxValues,
): Promise<Pick<SimCounts, "total" | "values">> {
  const { profile, filter, field, ...options } = query;
  const indexed = await inventory.counts(profile, filter, { ...options, field });
  if (indexed !== undefined) return { total: indexed.total, values: mostFrequentFirst(indexed.values) };
  const counts = new Map<string | null, number>();
  let total = 0;
  for await (const found of inventory.scan(profile, filter, options)) {
    total += found.length;
    if (field === undefined) continue;
    for (const { key, sim } of found) {
      const value = (field === query.keyColumn ? key : fieldTextOf(sim, field)) ?? null;
      counts.set(value, (counts.get(value) ?? 0) + 1);
    }
    if (counts.size > max) {
      throw new SimfleetError(
        "USAGE",
        `${field} has more than ${max.toLocaleString("en-US")} values: count by another field, or narrow the filter`,
      );
    }
  }
  return { total, values: mostFrequentFirst(counts) };
}

function mostFrequentFirst(counts: ReadonlyMap<string | null, number>): SimCounts["values"] {
  return [...counts]
    .map(([value, count]) => ({ value, count }))
    .toSorted((a, b) => b.count - a.count || ((a.value ?? "") < (b.value ?? "") ? -1 : 1));
}

// Exports the inventory: as CSV for spreadsheets and for `plan` and `apply`, or as NDJSON with raw values.

type ExportFormat = "csv" | "ndjson";

/** When each SIM was seen, and what changed it last. */
const timeColumns: readonly string[] = ["addedAt", "updatedAt", "updatedBy", "seenAt", "goneAt"];

/**
 * @param options `columns` of the CSV; by default the key, the stored fields (an object as JSON) and the times
 */
export async function* exportLines(
  sims: AsyncIterable<readonly FoundSim[]>,
  options: {
    readonly format: ExportFormat;
    readonly columns?: readonly string[] | undefined;
    readonly keyColumn: KeyColumn;
    readonly fields: readonly string[];
  },
  show: (found: FoundSim) => Readonly<Record<string, unknown>>,
): AsyncGenerator<string> {
  if (options.format === "ndjson") {
    for await (const batch of sims) yield batch.map((found) => `${JSON.stringify(show(found))}\n`).join("");
    return;
  }
  const columns = options.columns ?? [options.keyColumn, ...options.fields, ...timeColumns];
  yield csvLine(columns);
  for await (const batch of sims) {
    yield batch
      .map((found) => {
        const document = show(found);
        return csvLine(columns.map((column) => cellOf(document, column)));
      })
      .join("");
  }
}

function cellOf(document: Readonly<Record<string, unknown>>, column: string): string {
  const value = Object.hasOwn(document, column) ? document[column] : memberOf(document, column);
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

function memberOf(document: Readonly<Record<string, unknown>>, column: string): unknown {
  const dot = column.indexOf(".");
  const outer = dot < 0 ? undefined : document[column.slice(0, dot)];
  const name = column.slice(dot + 1);
  return typeof outer === "object" && outer !== null && Object.hasOwn(outer, name)
    ? Reflect.get(outer, name)
    : undefined;
}

// Counts the fleet, for the dashboard and for scheduled reports.

/** Key for SIMs without a value. */
const none = "none";
const maxGroups = 50;

async function countFleet(
  inventory: Inventory,
  of: { profile: string; keyColumn: KeyColumn; lastSync: SyncReport | undefined; atMs: number },
): Promise<FleetReport> {
  const { profile, keyColumn, lastSync, atMs } = of;
  const countBy = (field: string) =>
    countByValue(inventory, { profile, keyColumn, filter: everySim, presence: "listed", field }, Infinity);
  const { total, values: bySpeedClass } = await countBy("speedClass");
  const byStatus = await countBy("status");
  const byGroup = await countBy("groupId");
  const { gone, isComplete } = await inventory.facts(profile);
  return {
    profile,
    at: new Date(atMs).toISOString(),
    total,
    gone,
    isComplete,
    lastSync: lastSync ?? null,
    bySpeedClass: countsOf(bySpeedClass),
    byStatus: countsOf(byStatus.values),
    byGroup: countsOf(byGroup.values, maxGroups),
  };
}

function countsOf(values: SimCounts["values"], max = values.length): Counts {
  const shown = values.slice(0, max).map(({ value, count }) => [value ?? none, count] as const);
  const rest = values.slice(max).reduce((sum, { count }) => sum + count, 0);
  return Object.fromEntries(rest === 0 ? shown : [...shown, ["other", rest]]);
}

// The report of a sync, for display and JSON.

export function reportOfSync(profile: string, state: SyncState): SyncReport {
  const { syncId, phase, sims, pages, added, changed, returned, gone, startedAtMs, finishedAtMs } = state;
  const { reason, problem } = state;
  return {
    syncId,
    profile,
    state: phase,
    sims,
    pages,
    added,
    changed,
    returned,
    gone,
    startedAt: new Date(startedAtMs).toISOString(),
    startedBy: state.startedBy ?? null,
    finishedAt: finishedAtMs === undefined ? null : new Date(finishedAtMs).toISOString(),
    seconds: finishedAtMs === undefined ? null : (finishedAtMs - startedAtMs) / 1e3,
    ...(reason === undefined ? {} : { reason }),
    ...(problem === undefined ? {} : { problem: reportOfProblem(problem) }),
  };
}

/** `s-20261120-103045-482`: sorts by time. */
export function newSyncId(nowMs: number): string {
  const stamp = new Date(nowMs).toISOString().replace(/[-:]/g, "").replace("T", "-").slice(0, 15);
  return `s-${stamp}-${String(randomInt(1_000)).padStart(3, "0")}`;
}

/** The last syncs for the log. */
export function activityOfSyncs(reports: readonly (SyncReport | undefined)[]): Activity[] {
  return reports
    .filter((report) => report !== undefined)
    .map(({ syncId, profile, state, sims, added, changed, returned, gone, reason }) => {
      const isOver = state === "finished" || state === "failed";
      return {
        id: syncId,
        state: isOver ? state : "running",
        isOver,
        facts: { syncId, profile, sims, added, changed, returned, gone, reason },
        what: "the sync",
        end: state,
      };
    });
}

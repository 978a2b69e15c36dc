/**
 * Operations on the inventory, shared by the CLI and the HTTP API.
 */
import { SimfleetError } from "#core/errors.ts";
import type { Clock } from "#core/time.ts";
import type { Feed } from "#events/feed.ts";
import { type Filter, everySim } from "#fleet/filter.ts";
import { documentOf } from "#fleet/sim/sim-fields.ts";
import { type KeyColumn, type Wording, keyColumnOf } from "#fleet/sim/sim.ts";
import type { SyncQueues } from "./queue.ts";
import type { FoundSim, Inventory, InventoryFacts, SimPresence } from "./store/inventory.ts";
import type { SyncLog } from "./store/sync-record.ts";
import { type ChangeQuery, changesOf } from "./changes.ts";
import type {
  Change,
  FleetReport,
  SimCount,
  SimCounts,
  SimDocument,
  SimField,
  SimPage,
  SyncReport,
} from "./contract.ts";
import { countSims } from "./explore/count.ts";
import { fieldsOf } from "./explore/fields.ts";
import { namesOfRecord, orderOf, sortedPage } from "./explore/sorted-page.ts";
import { assertFieldsKnown, assertNamesKnown } from "./filter-fields.ts";
import { countByValue } from "./count-by-value.ts";
import { countFleet } from "./fleet-report.ts";
import { type ExportFormat, exportLines, timeColumns } from "./export.ts";
import { newSyncId, reportOfSync } from "./sync-report.ts";

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
  readonly #queues: SyncQueues;
  readonly #feed: Feed;
  readonly #wordingOf: (profile: string) => Wording;

  constructor(deps: {
    inventory: Inventory;
    syncs: SyncLog;
    syncQueues: SyncQueues;
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
    return countSims(this.#inventory, profile, selection, { clock, limitMs: countLimitMs });
  }

  /** The fields of the inventory and their known values. */
  async fields(profile: string): Promise<SimField[]> {
    const of = { profile, keyColumn: this.#keyColumn(profile) };
    return fieldsOf(this.#inventory, of, await this.#inventory.indexedFields(profile));
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

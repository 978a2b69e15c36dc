/** Endpoints of the inventory. */
import { parseInstant } from "#core/ago.ts";
import { asList } from "#contract/fields.ts";
import { type Call, type Endpoint, creating, endpoint } from "#contract/route.ts";
import { SimfleetError, ConfigError } from "#core/errors.ts";
import type { Event } from "#events/event.ts";
import { everySim, parseFilter } from "#fleet/filter.ts";
import * as routes from "./contract.ts";
import type { OpenInventory } from "./service.ts";
import * as sims from "./sims.ts";
import { type Change, type SimDocument, changeTypes } from "./contract.ts";
import type { FoundSim, Inventory } from "./store/inventory.ts";
import type { Account } from "#api/account.ts";
import { systemClock } from "#core/time.ts";
import type { Kernel } from "#kernel/kernel.ts";
import { readSharing } from "#engine/sharing.ts";
import type { OneSim } from "#api/operations/described.ts";
import type { Operation } from "#api/operations/operation.ts";
import type { FieldValue } from "#fleet/sim/field-text.ts";
import { jsonWithoutSecrets } from "#fleet/sim/sim-fields.ts";

/** How long a count that need not be exact may take. */
const countLimitMs = 1_000;

type InventoryDeps = Kernel & OpenInventory & { readonly process: "worker" | "command" };

export function inventoryEndpoints(deps: InventoryDeps): readonly Endpoint[] {
  return [...syncEndpoints(deps), ...simEndpoints(deps), ...readEndpoints(deps)];
}

function syncEndpoints(deps: InventoryDeps): readonly Endpoint[] {
  const { service, config, client, process, profileOf } = deps;
  const show = async (profile: string): Promise<routes.SyncReport> => {
    const report = await service.syncReport(profile);
    if (report !== undefined) return report;
    const message = `The profile ${profile} has not been synced yet: start a sync with POST /v1/syncs`;
    throw new SimfleetError("NOT_FOUND", message);
  };
  return [
    endpoint(routes.listSyncs, async () => {
      return { syncs: await service.syncReports(Object.keys(config.profiles)), nextCursor: null };
    }),
    endpoint(routes.showSync, ({ params }) => show(profileOf(params.profile))),
    creating(routes.startSync, ({ query, by }) => {
      const profile = profileOf(query.profile);
      // A command without credentials may leave the sync to a worker.
      if (process === "worker") client(profile);
      return {
        newId: () => profile,
        // A sync in progress continues, unless the request restarts it.
        create: () => service.sync(profile, { by, mode: query.restart === "true" ? "restart" : "resume" }),
        show,
        pathOf: () => `/syncs/${profile}`,
      };
    }),
  ];
}

function simEndpoints(deps: InventoryDeps): readonly Endpoint[] {
  const { store, keyColumnOf, profileOf, clock } = deps;
  return [
    endpoint(routes.listSims, async ({ query: { sort, limit, cursor, ...query } }) => {
      const order = sort === undefined ? undefined : sims.orderOf(sort);
      const { one, all } = await select(query, deps, order && { fields: [order.field], others: sims.namesOfRecord });
      const page = { limit, cursor };
      const readPage = async (each: Selected, part: sims.PageRequest) => {
        const { found, nextCursor } = await (order === undefined
          ? sims.newestPage(store, each, part)
          : sims.sortedPage(store, each, { order, ...part }));
        return { sims: found.map(each.show), nextCursor };
      };
      const shown = await (one === undefined ? sims.pageOfAll(all, page, readPage) : readPage(one, page));
      return { ...shown, isComplete: all.every(({ facts }) => facts.isComplete) };
    }),
    endpoint(routes.countSimsBy, async ({ query: { by: field, ...query } }) => {
      const { one, all } = await select(query, deps, field === undefined ? undefined : { fields: [field] });
      const countValues = (each: Selected) => sims.countByValue(store, { ...each, field });
      const isComplete = all.every(({ facts }) => facts.isComplete);
      if (one !== undefined) return { isComplete, ...(await countValues(one)) };
      const counted = all.map(async (each) => ({ profile: each.profile, counts: await countValues(each) }));
      return { isComplete, ...sims.countsOfAll(await Promise.all(counted)) };
    }),
    endpoint(routes.countSims, async ({ query }) => {
      const { all } = await select(query, deps);
      const limits = { clock, limitMs: countLimitMs };
      const counts = await Promise.all(all.map((each) => sims.countSims(store, each, limits)));
      return {
        count: counts.reduce((sum, { count }) => sum + count, 0),
        isExact: counts.every(({ isExact }) => isExact),
      };
    }),
    endpoint(routes.listSimFields, async ({ query }) => {
      const profile = profileOf(query.profile);
      return { fields: await sims.fieldsOf(store, profile, keyColumnOf(profile)), maxSorted: sims.maxSorted };
    }),
    endpoint(routes.exportSims, async ({ query: { format, columns: written, ...query } }) => {
      const columns = written?.split(",").map((name) => name.trim());
      const ofProfiles = query.allProfiles === "true" ? ["profile"] : [];
      const others = [...ofProfiles, ...sims.timeColumns];
      const { one, all } = await select(query, deps, { fields: columns ?? [], others });
      const stored = all.flatMap(({ facts }) => facts.fields);
      const usual = [...ofProfiles, ...all.map(({ keyColumn }) => keyColumn), ...stored, ...sims.timeColumns];
      const lines = sims.exportLines(scanDocuments(store, all), { format, columns: columns ?? [...new Set(usual)] });
      return { format, fileName: `${one?.profile ?? "all"}.sims.${format}`, lines };
    }),
    endpoint(routes.showSim, async ({ params: { sim: key }, query }) => {
      const profile = profileOf(query.profile);
      const sim = await store.sim(profile, key);
      if (sim === undefined) {
        throw new SimfleetError("NOT_FOUND", `${key} is not in the inventory; update it with: simfleet sims sync`);
      }
      return sims.documentOfSim({ key, sim }, { keyColumn: keyColumnOf(profile), facts: await store.facts(profile) });
    }),
  ];
}

type SelectionQuery = Call<typeof routes.countSims>["query"];

type Selected = Awaited<ReturnType<typeof selectIn>>;

/**
 * The SIMs that a request selects: of `one` profile, or of all.
 * @param names of fields that the request has besides its filter; `others` are accepted as well
 * @throws SimfleetError USAGE for a filter that cannot be read, or with a field that no SIM has
 */
async function select(
  query: SelectionQuery,
  deps: InventoryDeps,
  { fields = [], others = [] }: { readonly fields?: readonly string[]; readonly others?: readonly string[] } = {},
): Promise<{ readonly one: Selected | undefined; readonly all: readonly Selected[] }> {
  const isOfAll = query.allProfiles === "true";
  if (isOfAll && query.profile !== undefined) {
    throw new SimfleetError("USAGE", "Name one profile, or ask for all profiles, not both");
  }
  const profiles = isOfAll
    ? (await readSharing(deps)).firsts(Object.keys(deps.config.profiles))
    : [deps.profileOf(query.profile)];
  const all = await Promise.all(profiles.map((profile) => selectIn(profile, query, deps)));
  const filtered = all.flatMap(({ filter }) => sims.fieldsIn(filter));
  await sims.assertNamesKnown(deps.store, all, filtered);
  await sims.assertNamesKnown(deps.store, all, fields, others);
  return { one: isOfAll ? undefined : all[0], all };
}

async function selectIn(profile: string, query: SelectionQuery, { store, keyColumnOf }: InventoryDeps) {
  const texts = asList(query.where);
  const filter = texts === undefined ? everySim : parseFilter(texts);
  const keyColumn = keyColumnOf(profile);
  const presence = query.gone === "true" ? ("gone" as const) : ("listed" as const);
  const facts = await store.facts(profile);
  const named = query.allProfiles === "true" ? { profile } : {};
  const show = (found: FoundSim): SimDocument => ({
    ...named,
    ...sims.documentOfSim(found, { keyColumn, facts }),
    ...named,
  });
  return { profile, filter, presence, keyColumn, search: query.search, nowMs: systemClock.wallMs(), facts, show };
}

async function* scanDocuments(store: Inventory, all: readonly Selected[]): AsyncGenerator<SimDocument[]> {
  for (const { profile, filter, show, ...scan } of all) {
    for await (const found of store.scan(profile, filter, scan)) yield found.map(show);
  }
}

function readEndpoints(deps: InventoryDeps): readonly Endpoint[] {
  const { service, feed, profileOf, account, clock } = deps;
  return [
    endpoint(routes.readSim, async ({ params, query, signal }) => {
      const record = await readNow(account(profileOf(query.profile)), "readSim", params.sim, signal);
      return { ...(record as object), seenAt: new Date(clock.wallMs()).toISOString() };
    }),
    endpoint(routes.readSimStatuses, async ({ params, query, signal }) => {
      const entries = await readNow(account(profileOf(query.profile)), "readStatusHistory", params.sim, signal);
      return { statuses: entries as Record<string, unknown>[], nextCursor: null };
    }),
    endpoint(routes.listChanges, async ({ query: { profile: named, limit, cursor, since, type, ...fields } }) => {
      const profile = (await readSharing(deps)).sharers(profileOf(named));
      const asked = { profile, types: asList(type) ?? changeTypes, sinceMs: parseInstant(since), fields };
      const { events, nextCursor } = await feed.newest(asked, { limit, cursor });
      return { changes: events.map(changeOf), nextCursor };
    }),
    endpoint(routes.showFleet, ({ query }) => service.fleet(profileOf(query.profile))),
    endpoint(routes.fleetHistory, async ({ query }) => ({
      points: await service.fleetPoints(profileOf(query.profile), query.hours),
    })),
  ];
}

/** An event of the inventory, for display and JSON. */
export function changeOf({ id, type, atMs, fields, values = {} }: Event): Change {
  const { sim = "", field, by, cause = "" } = fields;
  return {
    id,
    at: new Date(atMs).toISOString(),
    type: type as Change["type"],
    sim,
    ...(field === undefined ? {} : { field, before: toPlain(values.before), after: toPlain(values.after) }),
    by: by === "run" ? "run" : "external",
    cause,
  };
}

function toPlain(value: FieldValue | undefined): unknown {
  if (value === undefined) return null;
  return "text" in value ? value.text : JSON.parse(value.json);
}

const operationIds = { readSim: "getSim", readStatusHistory: "getSimStatusHistory" } as const;

/**
 * What the platform has of one SIM now, without secrets.
 * @throws PlatformError; ConfigError if the platform definition does not describe the read
 */
async function readNow(account: Account, what: keyof typeof operationIds, key: string, signal: AbortSignal) {
  const operation: Operation<OneSim, unknown> | undefined = account[what];
  if (operation === undefined) {
    const message =
      "is not in the platform definition, so one SIM cannot be read (docs/reference/platform-definitions.md).";
    throw new ConfigError([{ where: `operations.${operationIds[what]}`, message }]);
  }
  const answer = await account.client.call(operation, { key }, { signal, urgency: "priority" });
  return JSON.parse(jsonWithoutSecrets(answer, account.selection.secrets)) as unknown;
}

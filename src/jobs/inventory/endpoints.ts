/** What answers the routes of the inventory. */
import { parseInstant } from "#core/ago.ts";
import { asList } from "#contract/fields.ts";
import { type Call, type Endpoint, creating, endpoint } from "#contract/route.ts";
import { SimfleetError, ConfigError } from "#core/errors.ts";
import type { Event } from "#events/event.ts";
import type { Feed } from "#events/feed.ts";
import { everySim, parseFilter } from "#fleet/filter.ts";
import * as routes from "./contract.ts";
import type { SimService } from "./service.ts";
import {
  assertFieldsKnown,
  assertNamesKnown,
  countByValue,
  countSims,
  documentOfSim,
  exportLines,
  fieldsOf,
  maxSorted,
  namesOfRecord,
  newestPage,
  orderOf,
  sortedPage,
  timeColumns,
} from "./sims.ts";
import { type Change, type ChangeType, type SimDocument, changeTypes } from "./contract.ts";
import type { FoundSim, Inventory } from "./store/inventory.ts";
import type { Account } from "#api/account.ts";
import type { Clock } from "#core/time.ts";
import type { OneSim } from "#api/operations/described.ts";
import type { Operation } from "#api/operations/operation.ts";
import type { FieldValue } from "#fleet/sim/field-text.ts";
import type { KeyColumn } from "#fleet/sim/sim.ts";
import { jsonWithoutSecrets } from "#fleet/sim/sim-fields.ts";

/** How long a count that need not be exact may take. */
const countLimitMs = 1_000;

export interface InventoryDeps {
  readonly sims: SimService;
  readonly store: Inventory;
  readonly feed: Feed;
  readonly keyColumnOf: (profile: string) => KeyColumn;
  /** Names of the configured profiles. */
  readonly profiles: readonly string[];
  /** The profile that a request is about. @throws SimfleetError NOT_FOUND */
  readonly profileOf: (named?: string) => string;
  /** @throws ConfigError with what a profile lacks to call the platform */
  readonly accountOf: (profile: string) => Account;
  readonly clock: Clock;
  /** @throws ConfigError with what a profile lacks to call the platform */
  readonly assertCallable: (profile: string) => void;
}

export function inventoryEndpoints(deps: InventoryDeps): readonly Endpoint[] {
  return [...syncEndpoints(deps), ...simEndpoints(deps), ...readEndpoints(deps), ...fleetEndpoints(deps)];
}

function syncEndpoints({ sims, profiles, profileOf, assertCallable }: InventoryDeps): readonly Endpoint[] {
  return [
    endpoint(routes.listSyncs, async () => {
      const reports = await Promise.all(profiles.map((profile) => sims.syncReport(profile)));
      return { syncs: reports.filter((report) => report !== undefined), nextCursor: null };
    }),
    endpoint(routes.showSync, async ({ params }) => {
      const profile = profileOf(params.profile);
      const report = await sims.syncReport(profile);
      if (report !== undefined) return report;
      throw new SimfleetError(
        "NOT_FOUND",
        `The profile ${profile} has not been synced yet: start a sync with POST /v1/syncs`,
      );
    }),
    creating(routes.startSync, ({ query, by }) => {
      const profile = profileOf(query.profile);
      assertCallable(profile);
      return {
        newId: () => profile,
        // A sync in progress continues, unless the request restarts it.
        create: () => sims.sync(profile, { by, mode: query.restart === "true" ? "restart" : "resume" }),
        pathOf: () => `/syncs/${profile}`,
      };
    }),
  ];
}

function simEndpoints(deps: InventoryDeps): readonly Endpoint[] {
  const { store, keyColumnOf, profileOf, clock } = deps;
  return [
    endpoint(routes.listSims, async ({ query: { sort, limit, cursor, ...query } }) => {
      const { keyColumn, fleet, selection, facts, show } = await select(query, deps);
      const order = sort === undefined ? undefined : orderOf(sort);
      if (order !== undefined) {
        await assertNamesKnown(fleet, { fields: [order.field], keyColumn, others: namesOfRecord });
      }
      const page = { limit, cursor };
      const { found, nextCursor } = await (order === undefined
        ? newestPage(fleet, selection, page)
        : sortedPage(fleet, selection, { order, ...page }));
      return { sims: found.map(show), nextCursor, isComplete: facts.isComplete };
    }),
    endpoint(routes.countSimsBy, async ({ query: { by: field, ...query } }) => {
      const { profile, keyColumn, fleet, selection, facts } = await select(query, deps);
      if (field !== undefined) await assertNamesKnown(fleet, { fields: [field], keyColumn });
      const counted = await countByValue(store, { ...selection, profile, field });
      return { isComplete: facts.isComplete, ...counted };
    }),
    endpoint(routes.countSims, async ({ query }) => {
      const { fleet, selection } = await select(query, deps);
      return countSims(fleet, selection, { clock, limitMs: countLimitMs });
    }),
    endpoint(routes.listSimFields, async ({ query }) => {
      const profile = profileOf(query.profile);
      return { fields: await fieldsOf({ inventory: store, profile }, keyColumnOf(profile)), maxSorted };
    }),
    endpoint(routes.exportSims, async ({ query: { format, columns: written, ...query } }) => {
      const { profile, keyColumn, fleet, selection, facts, show } = await select(query, deps);
      const columns = written?.split(",").map((name) => name.trim());
      await assertNamesKnown(fleet, { fields: columns ?? [], keyColumn, others: timeColumns });
      const { filter, ...scan } = selection;
      const options = { format, columns, keyColumn, fields: facts.fields };
      const lines = exportLines(store.scan(profile, filter, scan), options, show);
      return { format, fileName: `${profile}.sims.${format}`, lines };
    }),
    endpoint(routes.showSim, async ({ params: { sim: key }, query }) => {
      const profile = profileOf(query.profile);
      const sim = await store.sim(profile, key);
      if (sim === undefined) {
        throw new SimfleetError("NOT_FOUND", `${key} is not in the inventory; update it with: simfleet sims sync`);
      }
      return documentOfSim({ key, sim }, { keyColumn: keyColumnOf(profile), facts: await store.facts(profile) });
    }),
  ];
}

/**
 * The SIMs that a request selects.
 * @throws SimfleetError USAGE for a filter that cannot be read, or with a field that no SIM has
 */
async function select(
  query: Pick<Call<typeof routes.listSims>["query"], "profile" | "where" | "gone" | "search">,
  { store, keyColumnOf, profileOf }: InventoryDeps,
) {
  const profile = profileOf(query.profile);
  const texts = asList(query.where);
  const filter = texts === undefined ? everySim : parseFilter(texts);
  const keyColumn = keyColumnOf(profile);
  await assertFieldsKnown(store, { profile, filter, keyColumn });
  const presence = query.gone === "true" ? ("gone" as const) : ("listed" as const);
  const facts = await store.facts(profile);
  const show = (found: FoundSim): SimDocument => documentOfSim(found, { keyColumn, facts });
  const selection = { filter, presence, keyColumn, search: query.search };
  return { profile, keyColumn, fleet: { inventory: store, profile }, selection, facts, show };
}

function readEndpoints({ feed, profileOf, accountOf, clock }: InventoryDeps): readonly Endpoint[] {
  return [
    endpoint(routes.readSim, async ({ params, query, signal }) => {
      const record = await readNow(accountOf(profileOf(query.profile)), "readSim", params.sim, signal);
      return { ...(record as object), seenAt: new Date(clock.wallMs()).toISOString() };
    }),
    endpoint(routes.readSimStatuses, async ({ params, query, signal }) => {
      const entries = await readNow(accountOf(profileOf(query.profile)), "readStatusHistory", params.sim, signal);
      return { statuses: entries as Record<string, unknown>[], nextCursor: null };
    }),
    endpoint(routes.listChanges, ({ query: { profile, limit, cursor, since, type, sim, field, by } }) => {
      const sinceMs = parseInstant(since);
      const asked = { profile: profileOf(profile), types: asList(type), sim, field, by, sinceMs };
      return changesOf(feed, asked, { limit, cursor });
    }),
  ];
}

function fleetEndpoints({ sims, profileOf }: InventoryDeps): readonly Endpoint[] {
  return [
    endpoint(routes.showFleet, ({ query }) => sims.fleet(profileOf(query.profile))),
    endpoint(routes.fleetHistory, async ({ query }) => ({
      points: await sims.fleetPoints(profileOf(query.profile), query.hours),
    })),
  ];
}

// Changes of the fleet, for display and JSON: the inventory's events, newest first.

/** Changes, newest first. */
export async function changesOf(
  feed: Pick<Feed, "newest">,
  query: {
    readonly profile: string;
    readonly types?: readonly ChangeType[] | undefined;
    readonly sim?: string | undefined;
    readonly field?: string | undefined;
    readonly by?: "run" | "external" | undefined;
    readonly sinceMs?: number | undefined;
  },
  page: { limit: number; cursor?: string | undefined },
): Promise<{ changes: Change[]; nextCursor: string | null }> {
  const { profile, types = changeTypes, sim, field, by, sinceMs } = query;
  const { events, nextCursor } = await feed.newest({ profile, types, sinceMs, fields: { sim, by, field } }, page);
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

const operationIds = { readSim: "getSim", readStatusHistory: "getSimStatusHistory" } as const;

/**
 * What the platform has of one SIM now, without secrets.
 * @throws PlatformError; ConfigError if the deployment does not describe the read
 */
async function readNow(account: Account, what: keyof typeof operationIds, key: string, signal: AbortSignal) {
  const operation: Operation<OneSim, unknown> | undefined = account[what];
  if (operation === undefined) {
    const message = "is not in the deployment, so one SIM cannot be read (docs/deployments.md).";
    throw new ConfigError([{ where: `operations.${operationIds[what]}`, message }]);
  }
  const answer = await account.client.call(operation, { key }, { signal, urgency: "priority" });
  return JSON.parse(jsonWithoutSecrets(answer, account.selection.secrets)) as unknown;
}

/** What answers the routes of the inventory. */
import { parseInstant } from "#core/ago.ts";
import { asList } from "#contract/fields.ts";
import { creating, type Endpoint, endpoint } from "#contract/route.ts";
import { SimfleetError, ConfigError } from "#core/errors.ts";
import { everySim, type Filter, parseFilter } from "#fleet/filter.ts";
import * as routes from "./contract.ts";
import type { FleetService } from "./fleet-service.ts";
import type { SimService } from "./service.ts";
import { maxSorted } from "./explore.ts";
import type { Account } from "#api/account.ts";
import type { Clock } from "#core/time.ts";
import type { DeploymentOperationId } from "#fleet/deployment-operation.ts";
import { jsonWithoutSecrets } from "#fleet/sim/sim-fields.ts";

export interface InventoryDeps {
  readonly sims: SimService;
  readonly fleet: FleetService;
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
  return [...syncEndpoints(deps), ...simEndpoints(deps), ...fleetEndpoints(deps)];
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

function simEndpoints({ sims, profileOf, accountOf, clock }: InventoryDeps): readonly Endpoint[] {
  return [
    endpoint(routes.listSims, ({ query: { profile, where, gone, ...page } }) =>
      sims.list(profileOf(profile), { ...page, filter: filterOf(where), presence: presenceOf(gone) }),
    ),
    endpoint(routes.countSimsBy, ({ query: { profile, where, gone, by } }) =>
      sims.countBy(profileOf(profile), { filter: filterOf(where), presence: presenceOf(gone), field: by }),
    ),
    endpoint(routes.countSims, ({ query: { profile, where, gone, search } }) =>
      sims.count(profileOf(profile), { search, filter: filterOf(where), presence: presenceOf(gone) }, clock),
    ),
    endpoint(routes.listSimFields, async ({ query }) => ({
      fields: await sims.fields(profileOf(query.profile)),
      maxSorted,
    })),
    endpoint(routes.exportSims, async ({ query: { profile: named, where, gone, format, columns } }) => {
      const profile = profileOf(named);
      const lines = await sims.export(profile, {
        filter: filterOf(where),
        presence: presenceOf(gone),
        format,
        columns: columns?.split(",").map((name) => name.trim()),
      });
      return { format, fileName: `${profile}.sims.${format}`, lines };
    }),
    endpoint(routes.showSim, ({ params, query }) => sims.show(profileOf(query.profile), params.sim)),
    endpoint(routes.readSim, ({ params, query, signal }) =>
      readNow(params.sim, { account: accountOf(profileOf(query.profile)), clock, signal }),
    ),
    endpoint(routes.readSimStatuses, async ({ params, query, signal }) => ({
      statuses: await statusesNow(params.sim, accountOf(profileOf(query.profile)), signal),
      nextCursor: null,
    })),
    endpoint(routes.listChanges, ({ query: { profile, limit, cursor, since, type, sim, field, by } }) => {
      const sinceMs = parseInstant(since);
      return sims.changes(profileOf(profile), { types: asList(type), sim, field, by, sinceMs }, { limit, cursor });
    }),
  ];
}

function fleetEndpoints({ fleet, profileOf }: InventoryDeps): readonly Endpoint[] {
  return [
    endpoint(routes.showFleet, ({ query }) => fleet.report(profileOf(query.profile))),
    endpoint(routes.fleetHistory, async ({ query }) => ({
      points: await fleet.history(profileOf(query.profile), query.hours),
    })),
  ];
}

/** @throws SimfleetError USAGE for a filter that cannot be read */
function filterOf(where: string | readonly string[] | undefined): Filter {
  const texts = asList(where);
  return texts === undefined ? everySim : parseFilter(texts);
}

function presenceOf(gone: "true" | "false" | undefined): "gone" | "listed" {
  return gone === "true" ? "gone" : "listed";
}

// Reads of one SIM from the platform, where the deployment describes how.

/**
 * The record of a SIM as the platform has it now, without secrets.
 * @throws PlatformError; ConfigError if the deployment does not describe the read
 */
async function readNow(
  key: string,
  { account, clock, signal }: { account: Account; clock: Clock; signal: AbortSignal },
) {
  const { client, readSim, selection } = account;
  if (readSim === undefined) throw missing("getSim");
  const record = await client.call(readSim, { key }, { signal });
  const clean = JSON.parse(jsonWithoutSecrets(record, selection.secrets)) as Record<string, unknown>;
  return { ...clean, seenAt: new Date(clock.wallMs()).toISOString() };
}

/** @throws as `readNow` */
async function statusesNow(key: string, account: Account, signal: AbortSignal) {
  const { client, readStatusHistory, selection } = account;
  if (readStatusHistory === undefined) throw missing("getSimStatusHistory");
  const entries = await client.call(readStatusHistory, { key }, { signal });
  return JSON.parse(jsonWithoutSecrets(entries, selection.secrets)) as Record<string, unknown>[];
}

function missing(id: DeploymentOperationId): ConfigError {
  const message = "is not in the deployment, so one SIM cannot be read (docs/deployments.md).";
  return new ConfigError([{ where: `operations.${id}`, message }]);
}

/** The routes of the inventory: syncs, SIMs, changes of the fleet, and its counts. */
import { z } from "zod";
import {
  count,
  currentProblem,
  entryCursor,
  flag,
  id,
  instant,
  list,
  ofPage,
  ofProfile,
  pageOf,
  several,
  since,
} from "#contract/fields.ts";
import { getRoute, postRoute, route } from "#contract/route.ts";
import type { EventType } from "#events/event.ts";

export const syncReport = z.object({
  syncId: z.string(),
  profile: z.string(),
  state: z.enum(["listing", "sweeping", "finished", "failed"]),
  sims: count.describe("SIMs listed so far"),
  pages: count,
  added: count,
  changed: count,
  returned: count,
  gone: count,
  startedAt: instant,
  startedBy: z.string().nullable().describe("who requested it; null if not known"),
  finishedAt: instant.nullable(),
  seconds: z.number().nullable().describe("duration including pauses; null until it has ended"),
  reason: z.string().optional().describe("why it failed, or marked no SIM as gone"),
  problem: currentProblem.describe("why the next page cannot be read at the moment, and when it is retried"),
});

export type SyncReport = Readonly<z.infer<typeof syncReport>>;

/** A SIM in lists and exports: its key, its stored fields, and when it was seen. */
const simDocument = z
  .record(z.string(), z.unknown())
  .describe("the SIM's key (simId, or imsi), the fields that are kept, addedAt, updatedAt, updatedBy, seenAt, goneAt");

export type SimDocument = Readonly<z.infer<typeof simDocument>>;

const simPage = pageOf("sims", simDocument).extend({
  isComplete: z
    .boolean()
    .describe("whether the whole fleet has been synced at least once, so that a missing SIM does not exist"),
});

export const changeTypes = ["sim.added", "sim.changed", "sim.gone", "sim.returned"] as const satisfies EventType[];

const change = z.object({
  id: z.string(),
  at: instant,
  type: z.enum(changeTypes),
  sim: z.string(),
  field: z.string().optional().describe("with sim.changed"),
  before: z.unknown().optional().describe("with sim.changed; null if there was no value"),
  after: z.unknown().optional().describe("with sim.changed; null if there is no value"),
  by: z.enum(["run", "external"]).describe("run: a run of simfleet changed it"),
  cause: z.string().describe("the run, or the sync that saw it"),
});

export type Change = Readonly<z.infer<typeof change>>;

/** Number of SIMs by value, the largest first. */
const counts = z.record(z.string(), count);

const fleetReport = z.object({
  profile: z.string(),
  at: instant.describe("time of the count"),
  total: count.describe("SIMs that the platform lists"),
  gone: count.describe("SIMs that it no longer lists"),
  isComplete: z.boolean().describe("whether the whole fleet was ever synced"),
  lastSync: syncReport.nullable(),
  bySpeedClass: counts,
  byStatus: counts,
  byGroup: counts.describe("the fifty largest, the rest under `other`"),
});

export type FleetReport = Readonly<z.infer<typeof fleetReport>>;

const fleetPoint = z.object({ at: instant, total: count, bySpeedClass: counts });

export type FleetPoint = Readonly<z.infer<typeof fleetPoint>>;

export const listSyncs = getRoute({
  path: "/syncs",
  summary: "List the current or last sync of each profile",
  answer: pageOf("syncs", syncReport),
});

export const showSync = getRoute({
  path: "/syncs/:profile",
  summary: "Get the current or last sync of a profile",
  params: z.strictObject({ profile: id.meta({ example: "default" }) }),
  answer: syncReport,
});

export const startSync = postRoute({
  path: "/syncs",
  did: "started a sync of",
  summary: "Start a sync, or resume an interrupted one",
  query: z.strictObject({ ...ofProfile, restart: flag.describe("start over from the first page") }),
  answer: syncReport,
  status: 202,
});

const selection = {
  ...ofProfile,
  where: several(z.string().min(1).max(4_096)).meta({
    description: "a filter, such as `status=active and (tags.site=tokyo or createdTime<2026-01-01)`; all have to hold",
    example: "speedClass exists",
  }),
  gone: flag.describe("only SIMs that the platform no longer lists"),
  allProfiles: flag.describe(
    "one profile after the other, in the order of the configuration; each SIM then has the field `profile`",
  ),
} as const;

const search = z
  .string()
  .min(1)
  .max(100)
  .optional()
  .describe("part of a SIM ID, or a whole IMSI; the other way round where SIMs are named by their IMSI");

export const listSims = getRoute({
  path: "/sims",
  summary: "List SIMs, most recently added first",
  query: z.strictObject({
    ...selection,
    ...ofPage,
    search,
    sort: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe(
        "a field, `addedAt`, `updatedAt`, `updatedBy` or `goneAt`; with `-` before it in reverse; within each profile. A field that `GET /v1/sims/fields` does not call sortable is rejected for more than its `maxSorted` SIMs.",
      ),
    cursor: z.string().min(1).max(2_000).optional(),
  }),
  answer: simPage,
});

const simCounts = z.object({
  total: count,
  isComplete: z.boolean().describe("whether the whole fleet has been synced at least once"),
  values: list(
    z.object({ profile: ofProfile.profile, value: z.string().nullable().describe("null: no value"), count }),
  ).describe("SIMs by value of the field, the most frequent first; empty without `by`"),
  profiles: list(z.object({ profile: z.string(), count }))
    .optional()
    .describe("with `allProfiles`: SIMs of each"),
});

export type SimCounts = Readonly<z.infer<typeof simCounts>>;

export const countSimsBy = getRoute({
  path: "/sims/counts",
  summary: "Count SIMs exactly, in total or by the values of a field",
  query: z.strictObject({ ...selection, by: id.optional().meta({ description: "a field", example: "speedClass" }) }),
  answer: simCounts,
});

const simCount = z.object({
  count,
  isExact: z.boolean().describe("false: counting took too long, and there may be more"),
});

export type SimCount = Readonly<z.infer<typeof simCount>>;

export const countSims = getRoute({
  path: "/sims/count",
  summary: "Count SIMs, within a second",
  query: z.strictObject({ ...selection, search }),
  answer: simCount,
});

const simField = z.object({
  name: z.string(),
  values: list(z.string()).describe("known values; empty if there are too many"),
  isSortable: z.boolean().describe("whether a list of any length can be sorted by it"),
});

export type SimField = Readonly<z.infer<typeof simField>>;

const simFields = z.object({
  fields: list(simField),
  maxSorted: count.describe("maximum number of SIMs in a list that is sorted by another field"),
});

export type SimFields = Readonly<z.infer<typeof simFields>>;

export const listSimFields = getRoute({
  path: "/sims/fields",
  summary: "List the fields of the inventory with their values, for filters",
  query: z.strictObject(ofProfile),
  answer: simFields,
});

export const exportSims = getRoute({
  path: "/sims/export",
  summary: "Export the inventory",
  query: z.strictObject({
    ...selection,
    format: z.enum(["csv", "ndjson"]).default("csv").describe("csv is what a plan takes; ndjson has raw values"),
    columns: z.string().max(4_096).optional().describe("of the CSV, with commas between"),
  }),
  answer: "lines",
});

const ofSim = { params: z.strictObject({ sim: id }), query: z.strictObject(ofProfile) } as const;
const ofSimNow = { ...ofSim, method: "GET", role: "operator" } as const;

export const showSim = getRoute({
  ...ofSim,
  path: "/sims/:sim",
  summary: "Get a SIM as last seen",
  answer: simDocument,
});

export const readSim = route({
  ...ofSimNow,
  path: "/sims/:sim/fresh",
  summary: "Read a SIM from the platform now",
  description: "Uses one call of the quota and leaves the inventory as it is. Secrets of the record are left out.",
  answer: z.looseObject({ seenAt: instant }),
});

export const readSimStatuses = route({
  ...ofSimNow,
  path: "/sims/:sim/statuses",
  summary: "Read the status history of a SIM from the platform now",
  description: "Uses one call of the quota. It needs the operation `getSimStatusHistory` of the platform definition.",
  answer: pageOf("statuses", z.looseObject({})),
});

export const listChanges = getRoute({
  path: "/changes",
  tag: "sims",
  summary: "List changes of the fleet, newest first",
  query: z.strictObject({
    ...ofProfile,
    ...ofPage,
    cursor: entryCursor,
    since,
    sim: id.optional(),
    field: id.optional(),
    by: z.enum(["run", "external"]).optional(),
    type: several(z.enum(changeTypes)).meta({ example: "sim.changed" }),
  }),
  answer: pageOf("changes", change),
});

export const showFleet = getRoute({
  path: "/fleet",
  tag: "sims",
  summary: "Count SIMs by speed class, status and group; for a small fleet the counts are at most a few seconds old",
  query: z.strictObject(ofProfile),
  answer: fleetReport,
});

export const fleetHistory = getRoute({
  path: "/fleet/history",
  tag: "sims",
  summary: "Count SIMs over time: one point per five minutes, up to a week, oldest first",
  query: z.strictObject({ ...ofProfile, hours: z.coerce.number().min(0.1).max(168).default(24) }),
  answer: z.object({ points: list(fleetPoint) }),
});

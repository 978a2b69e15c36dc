/** Syncs: reading the fleet from the platform. */
import { z } from "zod";
import { SimfleetError } from "#core/errors.ts";
import type { SyncReport } from "#jobs/inventory/sync-report.ts";
import type { Api, ControlDeps } from "../deps.ts";
import { once } from "../once.ts";
import { profileOf } from "../plans/order.ts";
import { actorOf } from "../auth/principal.ts";
import {
  count,
  currentProblem,
  flag,
  id,
  instant,
  noBody,
  nothing,
  ofProfile,
  pageOf,
  shapeOf,
} from "#contract/fields.ts";

export const syncReport = shapeOf<SyncReport>()({
  syncId: z.string(),
  profile: z.string(),
  state: z.enum(["listing", "sweeping", "finished", "failed"]),
  sims: count,
  pages: count,
  added: count,
  changed: count,
  returned: count,
  gone: count,
  startedAt: instant,
  startedBy: z.string().nullable(),
  finishedAt: instant.nullable(),
  seconds: z.number().nullable(),
  reason: z.string().optional(),
  problem: currentProblem,
});

const tags = ["syncs"];

export function syncRoutes(api: Api, deps: ControlDeps): void {
  const { app, config } = deps;
  api.get(
    "/syncs",
    {
      config: { role: "viewer" },
      schema: {
        ...{ summary: "List the current or last sync of each profile", tags },
        ...{ querystring: nothing, response: { 200: pageOf("syncs", syncReport) } },
      },
    },
    async () => {
      const reports = await Promise.all(Object.keys(config.profiles).map((profile) => app.sims.syncReport(profile)));
      return { syncs: reports.filter((report) => report !== undefined), nextCursor: null };
    },
  );
  api.get(
    "/syncs/:profile",
    {
      config: { role: "viewer" },
      schema: {
        ...{ summary: "Get the current or last sync of a profile", tags },
        ...{ params: z.strictObject({ profile: id }), querystring: nothing, response: { 200: syncReport } },
      },
    },
    async ({ params }) => {
      const profile = profileOf(params.profile, deps);
      const report = await app.sims.syncReport(profile);
      if (report === undefined)
        throw new SimfleetError("NOT_FOUND", `There was no sync of ${profile} yet: start one with POST /v1/syncs`);
      return report;
    },
  );
  addBegin(api, deps);
}

function addBegin(api: Api, deps: ControlDeps): void {
  const { app } = deps;
  api.post(
    "/syncs",
    {
      config: { role: "operator" },
      schema: {
        ...{ summary: "Start a sync, or resume an interrupted one", tags },
        querystring: z.strictObject({
          ...ofProfile,
          restart: flag.describe("start over from the first page"),
        }),
        ...{ body: noBody, response: { 202: syncReport } },
      },
    },
    async (request, reply) => {
      const profile = profileOf(request.query.profile, deps);
      app.client(profile); // throws with what it lacks
      return once(
        deps,
        { request, reply },
        {
          status: 202,
          newRef: () => profile,
          // A sync in progress continues, unless the request restarts it.
          make: () =>
            app.sims.sync(profile, {
              by: actorOf(request.principal),
              how: request.query.restart === "true" ? "restart" : "resume",
            }),
          locationOf: () => `/v1/syncs/${profile}`,
        },
      );
    },
  );
}

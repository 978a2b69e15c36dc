/** The fleet at a glance: how it is made up, now and over time. */
import { z } from "zod";
import type { FleetPoint } from "#jobs/inventory/fleet-service.ts";
import type { FleetReport } from "#jobs/inventory/fleet-report.ts";
import type { Api, ControlDeps } from "../deps.ts";
import { profileOf } from "../plans/order.ts";
import { count, instant, list, ofProfile, shapeOf } from "#contract/fields.ts";
import { syncReport } from "./syncs.ts";

const counts = z.record(z.string(), count);

const fleet = shapeOf<FleetReport>()({
  profile: z.string(),
  at: instant,
  total: count,
  gone: count,
  isComplete: z.boolean(),
  lastSync: syncReport.nullable(),
  bySpeedClass: counts,
  byStatus: counts,
  byGroup: counts.describe("the fifty largest, the rest under `other`"),
});

const point = shapeOf<FleetPoint>()({ at: instant, total: count, bySpeedClass: counts });

const tags = ["sims"];

export function fleetRoutes(api: Api, deps: ControlDeps): void {
  const { app } = deps;
  api.get(
    "/fleet",
    {
      config: { role: "viewer" },
      schema: {
        ...{
          summary: "Count SIMs by class, status and group; a few seconds old at most for a small fleet",
          tags,
        },
        ...{ querystring: z.strictObject(ofProfile), response: { 200: fleet } },
      },
    },
    async ({ query }) => app.control.fleet.report(profileOf(query.profile, deps)),
  );
  api.get(
    "/fleet/history",
    {
      config: { role: "viewer" },
      schema: {
        ...{ summary: "Count SIMs over time: one point per five minutes, up to a week, oldest first", tags },
        querystring: z.strictObject({ ...ofProfile, hours: z.coerce.number().min(0.1).max(168).default(24) }),
        response: { 200: z.object({ points: list(point) }) },
      },
    },
    async ({ query }) => ({ points: await app.control.fleet.history(profileOf(query.profile, deps), query.hours) }),
  );
}

/** What has changed in the fleet, and whether our runs did it. */
import { z } from "zod";
import { type Change, changeTypes } from "#jobs/inventory/changes.ts";
import type { Api, ControlDeps } from "../deps.ts";
import { profileOf } from "../plans/order.ts";
import { asList, id, instant, ofPage, ofProfile, pageOf, several, shapeOf } from "#contract/fields.ts";

const change = shapeOf<Change>()({
  id: z.string(),
  at: instant,
  type: z.enum(changeTypes),
  sim: z.string(),
  field: z.string().optional(),
  before: z.unknown().optional(),
  after: z.unknown().optional(),
  by: z.enum(["run", "outside"]),
  cause: z.string(),
});

export const since = z.iso.datetime({ offset: true }).optional().describe("not older than this instant");
export const eventCursor = z
  .string()
  .regex(/^\d{1,15}-\d{1,10}$/, "has to be the nextCursor of a page before")
  .optional();

export function changeRoutes(api: Api, deps: ControlDeps): void {
  api.get(
    "/changes",
    {
      config: { role: "viewer" },
      schema: {
        ...{ summary: "List changes of the fleet, newest first", tags: ["sims"] },
        querystring: z.strictObject({
          ...ofProfile,
          ...ofPage,
          ...{ cursor: eventCursor, since },
          sim: id.optional(),
          field: id.optional(),
          by: z.enum(["run", "outside"]).optional(),
          type: several(z.enum(changeTypes)),
        }),
        response: { 200: pageOf("changes", change) },
      },
    },
    async ({ query: { profile, limit, cursor, since: from, type, sim, field, by } }) => {
      const sinceMs = from === undefined ? undefined : Date.parse(from);
      const query = { types: asList(type), sim, field, by, sinceMs };
      return deps.app.sims.changes(profileOf(profile, deps), query, { limit, cursor });
    },
  );
}

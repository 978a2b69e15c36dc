/** What has changed in the fleet, and whether our runs did it. */
import { z } from "zod";
import { type Change, changeTypes } from "#jobs/inventory/changes.ts";
import type { Api, ControlDeps } from "../deps.ts";
import { profileOf } from "../plans/order.ts";
import {
  asList,
  entryCursor,
  id,
  instant,
  ofPage,
  ofProfile,
  pageOf,
  several,
  shapeOf,
  since,
} from "#contract/fields.ts";

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
          ...{ cursor: entryCursor, since },
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

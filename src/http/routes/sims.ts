/** The inventory: SIMs as they were last seen. */
import { Readable } from "node:stream";
import { z } from "zod";
import { everySim, type Filter, parseFilter } from "#fleet/filter.ts";
import type { Api, ControlDeps } from "../deps.ts";
import { profileOf } from "../plans/order.ts";
import { asList, flag, id, ofPage, ofProfile, pageOf, several } from "#contract/fields.ts";
import { fileOfLines } from "../mount.ts";

const simDocument = z
  .record(z.string(), z.unknown())
  .describe("the SIM's key (simId, or imsi), the fields that are kept, addedAt, updatedAt, updatedBy, seenAt, goneAt");

const which = {
  ...ofProfile,
  where: several(z.string().min(1).max(4_096)).describe("a filter; all of them have to hold"),
  gone: flag.describe("only SIMs that the platform no longer lists"),
} as const;

const tags = ["sims"];

export function simRoutes(api: Api, deps: ControlDeps): void {
  const { sims } = deps.app;
  api.get(
    "/sims",
    {
      config: { role: "viewer" },
      schema: {
        ...{ summary: "List SIMs, most recently discovered first", tags },
        querystring: z.strictObject({ ...which, ...ofPage }),
        response: { 200: pageOf("sims", simDocument).extend({ isComplete: z.boolean() }) },
      },
    },
    async ({ query: { profile, where, gone, limit, cursor } }) =>
      sims.list(profileOf(profile, deps), { ...{ limit, cursor }, ...meant(where, gone) }),
  );
  addExport(api, deps);
  api.get(
    "/sims/:sim",
    {
      config: { role: "viewer" },
      schema: {
        ...{ summary: "Get a SIM as last seen", tags },
        params: z.strictObject({ sim: id }),
        querystring: z.strictObject(ofProfile),
        response: { 200: simDocument },
      },
    },
    async ({ params, query }) => sims.show(profileOf(query.profile, deps), params.sim),
  );
}

function addExport(api: Api, deps: ControlDeps): void {
  api.get(
    "/sims/export",
    {
      config: { role: "viewer" },
      schema: {
        ...{ summary: "Export the inventory", tags },
        querystring: z.strictObject({
          ...which,
          format: z.enum(["csv", "ndjson"]).default("csv").describe("csv is what a plan takes; ndjson has raw values"),
          columns: z.string().max(4_096).optional().describe("of the CSV, with commas between"),
        }),
        response: { 200: fileOfLines },
      },
    },
    async ({ query: { profile: named, where, gone, format, columns } }, reply) => {
      const profile = profileOf(named, deps);
      const names = columns?.split(",").map((name) => name.trim());
      const lines = await deps.app.sims.export(profile, { ...meant(where, gone), format, columns: names });
      return reply
        .type(format === "csv" ? "text/csv; charset=utf-8" : "application/x-ndjson")
        .header("content-disposition", `attachment; filename="${profile}.sims.${format}"`)
        .send(Readable.from(lines));
    },
  );
}

/** @throws SimfleetError USAGE for a filter that cannot be read */
function meant(
  where: string | readonly string[] | undefined,
  gone: string | undefined,
): { filter: Filter; presence: "gone" | "listed" } {
  const texts = asList(where);
  return { filter: texts === undefined ? everySim : parseFilter(texts), presence: gone === "true" ? "gone" : "listed" };
}

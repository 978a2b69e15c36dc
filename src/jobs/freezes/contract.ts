/** The routes of freezes. */
import { z } from "zod";
import { count, instant, list } from "#contract/fields.ts";
import { getRoute, route } from "#contract/route.ts";

const freezeTimeReport = z.object({
  name: z.string(),
  profile: z.string().nullable().describe("null: every profile"),
  from: instant,
  to: instant,
});

export type FreezeTimeReport = Readonly<z.infer<typeof freezeTimeReport>>;

const freezeReport = z.object({
  ordered: z
    .object({ by: z.string(), reason: z.string(), since: instant, until: instant.nullable() })
    .nullable()
    .describe("the manual freeze; null if there is none or it has ended"),
  profiles: z
    .record(z.string(), z.object({ reason: z.string(), until: instant.nullable() }).nullable())
    .describe("what freezes each profile now: the manual freeze, or one of the configuration"),
  store: z.string().describe("the Redis that stores the freeze"),
  workers: z
    .record(z.string(), z.number().int())
    .describe("by profile: the processes that work on its runs now, which the freeze holds"),
  runs: count.describe("runs in progress, which a freeze of all changes holds"),
  periods: list(freezeTimeReport).describe(
    "the freezes of the configuration that are active now, and the next three times of each, earliest first",
  ),
});

export type FreezeReport = Readonly<z.infer<typeof freezeReport>>;

export const showFreeze = getRoute({
  path: "/freeze",
  summary: "Get the freeze status of every profile",
  answer: freezeReport,
});

export const startFreeze = route({
  method: "POST",
  path: "/freeze",
  did: "froze all changes",
  role: "admin",
  summary: "Freeze all changes of every profile; calls in flight are completed",
  body: z
    .strictObject({
      reason: z.string().max(500).optional().describe("reason to show"),
      until: z.iso.datetime({ offset: true }).optional().describe("when it ends automatically"),
    })
    .nullish()
    .meta({ example: { reason: "incident 12", until: "2099-12-27T09:00:00+09:00" } }),
  answer: freezeReport,
});

export const endFreeze = route({
  method: "DELETE",
  path: "/freeze",
  did: "ended the freeze",
  role: "admin",
  summary: "End the freeze; freezes in the configuration still apply",
  answer: freezeReport,
});

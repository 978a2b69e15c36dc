/** The switch that holds everything that changes the platform. */
import { z } from "zod";
import { type FreezeReport, type FreezeTimeReport, reportOfFreezes } from "#jobs/freezes/report.ts";
import type { Api, ControlDeps } from "../deps.ts";
import { actorOf } from "../auth/principal.ts";
import { instant, list, noBody, nothing, shapeOf } from "#contract/fields.ts";

const freezeReport = shapeOf<FreezeReport>()({
  ordered: z.object({ by: z.string(), reason: z.string(), since: instant, until: instant.nullable() }).nullable(),
  profiles: z
    .record(z.string(), z.object({ reason: z.string(), until: instant.nullable() }).nullable())
    .describe("what holds each profile now: the switch, or a freeze of the configuration"),
  windows: list(
    shapeOf<FreezeTimeReport>()({ name: z.string(), profile: z.string().nullable(), from: instant, to: instant }),
  ).describe("the freezes of the configuration that hold now, and the next three times of each, earliest first"),
});

const tags = ["freeze"];

export function freezeRoutes(api: Api, { app, config }: ControlDeps): void {
  const { freezes } = app;
  const report = (): Promise<FreezeReport> => reportOfFreezes(freezes, Object.keys(config.profiles));
  api.get(
    "/freeze",
    {
      config: { role: "viewer" },
      schema: {
        ...{ summary: "Get whether changes are frozen, and why", tags },
        ...{ querystring: nothing, response: { 200: freezeReport } },
      },
    },
    report,
  );
  api.post(
    "/freeze",
    {
      config: { role: "admin" },
      schema: {
        ...{ summary: "Freeze all changes of every profile; calls in flight are completed", tags },
        querystring: nothing,
        body: z
          .strictObject({
            reason: z.string().max(500).optional().describe("for those who see it"),
            until: z.iso.datetime({ offset: true }).optional().describe("when it ends by itself"),
          })
          .nullish(),
        response: { 200: freezeReport },
      },
    },
    async ({ body, principal }) => {
      const untilMs = body?.until === undefined ? undefined : Date.parse(body.until);
      await freezes.order({ by: actorOf(principal), reason: body?.reason ?? "", untilMs });
      return report();
    },
  );
  api.delete(
    "/freeze",
    {
      config: { role: "admin" },
      schema: {
        ...{ summary: "End the freeze; freezes in the configuration still apply", tags },
        ...{ querystring: nothing, body: noBody, response: { 200: freezeReport } },
      },
    },
    async ({ principal }) => {
      await freezes.end(actorOf(principal));
      return report();
    },
  );
}

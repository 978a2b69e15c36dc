/** AuthKeys of the user that a profile authenticates as, and the rotation of the one in use. Never a secret. */
import { z } from "zod";
import { SimfleetError } from "#core/errors.ts";
import type { AuthKeyReport, AuthKeyRotationReport } from "#jobs/authkeys/report.ts";
import type { Api, ControlDeps } from "../deps.ts";
import { once } from "../once.ts";
import { profileOf } from "../plans/order.ts";
import { actorOf } from "../auth/principal.ts";
import { currentProblem, id, instant, list, ofProfile, shapeOf } from "#contract/fields.ts";

const authKeyReport = shapeOf<AuthKeyReport>()({
  authKeyId: z.string(),
  createdAt: instant.nullable(),
  ageDays: z.number().nullable(),
  lastUsedAt: instant.nullable(),
  configured: z.enum(["first", "second"]).nullable(),
  usedBy: list(z.string()),
});

const states = [
  ...(["begun", "making-room", "creating", "created", "proved", "handed-over", "taken-up"] as const),
  ...(["revoking", "revoked", "taking-back", "done", "failed"] as const),
] as const satisfies AuthKeyRotationReport["state"][];

const rotationReport = shapeOf<AuthKeyRotationReport>()({
  rotationId: z.string(),
  profile: z.string(),
  state: z.enum(states),
  oldAuthKeyId: z.string().nullable(),
  newAuthKeyId: z.string().nullable(),
  now: z.string().nullable(),
  startedAt: instant,
  startedBy: z.string().nullable(),
  finishedAt: instant.nullable(),
  reason: z.string().nullable(),
  problem: currentProblem,
});

const tags = ["authkeys"];

export function authKeyRoutes(api: Api, deps: ControlDeps): void {
  const { authKeys } = deps.app;
  api.get(
    "/authkeys",
    {
      config: { role: "viewer" },
      schema: {
        ...{
          summary: "List the user's AuthKeys, with the current or last rotation",
          tags,
        },
        querystring: z.strictObject(ofProfile),
        response: {
          200: z.object({
            authKeys: list(authKeyReport),
            nextCursor: z.null(),
            rotation: rotationReport.nullable(),
          }),
        },
      },
    },
    async ({ query }) => {
      const profile = profileOf(query.profile, deps);
      const keys = await authKeys.list(profile);
      return { authKeys: keys, nextCursor: null, rotation: (await authKeys.report(profile)) ?? null };
    },
  );
  addRotation(api, deps);
}

function addRotation(api: Api, deps: ControlDeps): void {
  const { authKeys } = deps.app;
  api.get(
    "/authkeys/rotation",
    {
      config: { role: "viewer" },
      schema: {
        ...{ summary: "Get the current or last rotation, without a call to the platform", tags },
        ...{ querystring: z.strictObject(ofProfile), response: { 200: rotationReport } },
      },
    },
    async ({ query }) => {
      const profile = profileOf(query.profile, deps);
      const report = await authKeys.report(profile);
      if (report === undefined) throw new SimfleetError("NOT_FOUND", `The AuthKey of ${profile} was never rotated`);
      return report;
    },
  );
  api.post(
    "/authkeys/rotate",
    {
      config: { role: "admin" },
      schema: {
        ...{ summary: "Rotate the AuthKey in use, or resume its rotation", tags },
        querystring: z.strictObject(ofProfile),
        body: z
          .strictObject({ replace: id.optional().describe("revoke this AuthKey first, where both are taken") })
          .nullish(),
        response: { 202: rotationReport },
      },
    },
    async (request, reply) => {
      const { query, body, principal } = request;
      const profile = profileOf(query.profile, deps);
      return once(
        deps,
        { request, reply },
        {
          status: 202,
          newRef: () => profile,
          make: async () => {
            await authKeys.plan(profile, body?.replace); // throws with what stands in its way
            return authKeys.rotate(profile, { by: actorOf(principal), replaceId: body?.replace }); // one that is under way goes on
          },
          locationOf: () => "/v1/authkeys",
        },
      );
    },
  );
}

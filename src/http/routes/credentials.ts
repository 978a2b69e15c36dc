/** Credential Sets of an account, and the rotations of their secrets. Never a secret. */
import { z } from "zod";
import type { SetReport } from "#jobs/credentials/service.ts";
import type { RotationReport } from "#jobs/credentials/report.ts";
import type { Api, ControlDeps } from "../deps.ts";
import { once } from "../once.ts";
import { profileOf } from "../plans/order.ts";
import { actorOf } from "../auth/principal.ts";
import { currentProblem, id, instant, list, noBody, nothing, ofProfile, pageOf, shapeOf } from "#contract/fields.ts";

const references = list(z.object({ groupId: z.string(), namespace: z.string(), how: z.enum(["id", "placeholder"]) }));

const setReport = shapeOf<SetReport>()({
  credentialsId: z.string(),
  type: z.string().nullable(),
  description: z.string().nullable(),
  createdAt: instant.nullable(),
  updatedAt: instant.nullable(),
  lastUsedAt: instant.nullable(),
  references: references.nullable(),
  rotation: z.string().nullable(),
});

const states = [
  ...(["never", "planned", "generated", "handed-over", "created", "updated"] as const),
  ...(["repointed", "rolling-back", "done", "failed"] as const),
] as const satisfies RotationReport["state"][];

const rotationReport = shapeOf<RotationReport>()({
  name: z.string(),
  profile: z.string(),
  state: z.enum(states),
  strategy: z.string(),
  type: z.string(),
  rotationId: z.string().nullable(),
  credentialsId: z.string().nullable(),
  before: z.string().nullable(),
  successor: z.string().nullable(),
  startedAt: instant.nullable(),
  startedBy: z.string().nullable(),
  confirmedBy: z.string().nullable(),
  finishedAt: instant.nullable(),
  rotatedAt: instant.nullable(),
  ageDays: z.number().nullable(),
  lastUsedAt: instant.nullable(),
  nextStep: z.string().nullable(),
  nextAt: instant.nullable(),
  waitsFor: z.enum(["grace", "confirmation", "reference", "fault"]).nullable(),
  reason: z.string().nullable(),
  problem: currentProblem,
  handedTo: list(z.string()),
  references: references.nullable(),
});

const tags = ["credentials"];
const ofRotation = z.strictObject({ name: id });
/** For as long as the platform may be asked. */
const patienceMs = 60_000;

export function credentialRoutes(api: Api, deps: ControlDeps): void {
  const { credentials } = deps.app;
  api.get(
    "/credentials",
    {
      config: { role: "viewer" },
      schema: {
        ...{ summary: "List the account's Credential Sets", tags },
        ...{ querystring: z.strictObject(ofProfile), response: { 200: pageOf("credentials", setReport) } },
      },
    },
    async ({ query }) => {
      const sets = await credentials.list(profileOf(query.profile, deps), AbortSignal.timeout(patienceMs));
      return { credentials: sets, nextCursor: null };
    },
  );
  addRotations(api, deps);
}

function addRotations(api: Api, deps: ControlDeps): void {
  const { app, config } = deps;
  api.get(
    "/rotations",
    {
      config: { role: "viewer" },
      schema: {
        ...{ summary: "List rotations, configured or in progress; of all profiles unless one is given", tags },
        querystring: z.strictObject(ofProfile),
        response: {
          200: z.object({
            rotations: list(rotationReport),
            unknown: z.record(z.string(), z.string()).describe("why the platform could not be asked, by profile"),
          }),
        },
      },
    },
    async ({ query }) => {
      const profiles = query.profile === undefined ? Object.keys(config.profiles) : [profileOf(query.profile, deps)];
      return app.credentials.status(profiles, AbortSignal.timeout(patienceMs));
    },
  );
  api.get(
    "/rotations/:name",
    {
      config: { role: "viewer" },
      schema: {
        ...{ summary: "Get a rotation, without a call to the platform", tags },
        ...{ params: ofRotation, querystring: nothing, response: { 200: rotationReport } },
      },
    },
    async ({ params }) => app.credentials.report(params.name),
  );
  addRotationSteps(api, deps);
}

function addRotationSteps(api: Api, deps: ControlDeps): void {
  const { app } = deps;
  const step = (
    name: string,
    summary: string,
    take: (rotation: string, by: string) => Promise<RotationReport>,
  ): void => {
    api.post(
      `/rotations/:name/${name}`,
      {
        config: { role: "admin" },
        schema: {
          ...{ summary, tags },
          params: ofRotation,
          querystring: nothing,
          body: noBody,
          response: { 202: rotationReport },
        },
      },
      async (request, reply) =>
        once(
          deps,
          { request, reply },
          {
            status: 202,
            newRef: () => request.params.name,
            make: () => take(request.params.name, actorOf(request.principal)), // one that is under way goes on
            locationOf: () => `/v1/rotations/${request.params.name}`,
          },
        ),
    );
  };
  step("rotate", "Rotate a secret, or resume its rotation", (rotation, by) =>
    app.credentials.rotate(rotation, { by, signal: AbortSignal.timeout(patienceMs) }),
  );
  step("confirm", "Confirm that nothing references the old set any more", (rotation, by) =>
    app.credentials.confirm(rotation, by),
  );
}

/** The routes of the AuthKeys of the user that a profile authenticates as. No response contains a secret. */
import { z } from "zod";
import { currentProblem, id, instant, list, ofProfile } from "#contract/fields.ts";
import { getRoute, route } from "#contract/route.ts";

const ofUser = {
  ...ofProfile,
  user: z.string().min(1).max(128).optional().describe("a sub-user; by default the profile's own user"),
};

const replace = id.optional().describe("revoke this AuthKey first, where both are taken");

export const authKeyReport = z.object({
  authKeyId: z.string(),
  createdAt: instant.nullable().describe("null if the platform does not report it"),
  ageDays: z.number().nullable(),
  lastUsedAt: instant.nullable().describe("null: never used, or not reported"),
  configured: z
    .enum(["first", "second"])
    .nullable()
    .describe("its position in the profile's configuration: the first is preferred"),
  usedBy: list(z.string()).describe("live processes that use it"),
});

export type AuthKeyReport = Readonly<z.infer<typeof authKeyReport>>;

export const authKeyStates = [
  "begun",
  "making-room",
  "creating",
  "created",
  "verified",
  "delivered",
  "active",
  "revoking",
  "revoked",
  "taking-back",
  "done",
  "failed",
] as const;

export const authKeyRotationReport = z.object({
  rotationId: z.string(),
  profile: z.string(),
  user: z.string().nullable().describe("the sub-user whose AuthKey it is; null: the profile's own user"),
  state: z.enum(authKeyStates),
  oldAuthKeyId: z.string().nullable(),
  newAuthKeyId: z.string().nullable(),
  now: z.string().nullable().describe("what it does or waits for; null when it has ended"),
  revokesAt: instant
    .nullable()
    .describe("when the old AuthKey is revoked if it is not used until then; null before and after that wait"),
  startedAt: instant,
  startedBy: z.string().nullable().describe("who requested it; null if not known"),
  finishedAt: instant.nullable(),
  reason: z.string().nullable().describe("why it failed"),
  problem: currentProblem,
});

export type AuthKeyRotationReport = Readonly<z.infer<typeof authKeyRotationReport>>;

const authKeyPlan = z.object({
  profile: z.string(),
  oldAuthKeyId: z.string().nullable().describe("the AuthKey that is replaced; null if not known yet"),
  isInProgress: z.boolean().describe("whether a rotation is in progress, which a request to rotate resumes"),
});

export const listAuthKeys = getRoute({
  path: "/authkeys",
  summary: "List the user's AuthKeys, with the current or last rotation",
  query: z.strictObject(ofUser),
  answer: z.object({
    authKeys: list(authKeyReport),
    nextCursor: z.null(),
    rotation: authKeyRotationReport.nullable(),
  }),
});

export const showAuthKeyRotation = getRoute({
  path: "/authkeys/rotation",
  summary: "Get the current or last rotation, without a call to the platform",
  query: z.strictObject(ofUser),
  answer: authKeyRotationReport,
});

export const planAuthKeyRotation = getRoute({
  path: "/authkeys/rotation/plan",
  summary: "Preview a rotation: the AuthKey that it would replace, or what prevents it",
  query: z.strictObject({ ...ofUser, replace }),
  answer: authKeyPlan,
});

export const rotateAuthKey = route({
  method: "POST",
  path: "/authkeys/rotate",
  did: "rotated the AuthKey",
  role: "admin",
  summary: "Rotate the AuthKey in use, or resume its rotation",
  query: z.strictObject(ofUser),
  body: z.strictObject({ replace }).nullish(),
  answer: authKeyRotationReport,
  status: 202,
});

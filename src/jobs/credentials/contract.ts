/** The routes of Credential Sets, and of the rotations of their secrets. No answer contains a secret. */
import { z } from "zod";
import { currentProblem, id, instant, list, ofProfile, pageOf } from "#contract/fields.ts";
import { route } from "#contract/route.ts";

const ofRotation = z.strictObject({ name: id });

const references = list(
  z.object({ groupId: z.string(), namespace: z.string(), how: z.enum(["id", "placeholder"]) }),
).nullable();

/** A Credential Set of the account, without its secret, which the platform never shows. */
export const setReport = z.object({
  credentialsId: z.string(),
  type: z.string().nullable(),
  description: z.string().nullable(),
  createdAt: instant.nullable(),
  updatedAt: instant.nullable(),
  lastUsedAt: instant.nullable().describe("null: never used, or not reported"),
  references: references.describe("null: the deployment does not support listing references"),
  rotation: z.string().nullable().describe("name of the rotation that it belongs to"),
});

export type SetReport = Readonly<z.infer<typeof setReport>>;

export const rotationStates = [
  "planned",
  "generated",
  "delivered",
  "created",
  "updated",
  "switched",
  "rolling-back",
  "done",
  "failed",
] as const;

export const rotationReport = z.object({
  name: z.string(),
  profile: z.string(),
  state: z.enum(["never", ...rotationStates]).describe("`never` before the first rotation"),
  strategy: z.string(),
  type: z.string(),
  rotationId: z.string().nullable().describe("ID of the current or last rotation; null before the first one"),
  credentialsId: z.string().nullable().describe("the active set, or the last one known to be active"),
  before: z.string().nullable().describe("while in progress: the previous set"),
  successor: z.string().nullable().describe("while in progress: the new set"),
  startedAt: instant.nullable(),
  startedBy: z.string().nullable().describe("who requested it; null if not known"),
  confirmedBy: z.string().nullable().describe("who confirmed that nothing refers to the old set"),
  finishedAt: instant.nullable(),
  rotatedAt: instant.nullable().describe("when the current secret was created, as far as known"),
  ageDays: z.number().nullable(),
  dueAt: instant.nullable().describe("when the secret reaches `maxAgeDays`; null without that setting"),
  lastUsedAt: instant.nullable(),
  nextStep: z.string().nullable().describe("null if no rotation is in progress"),
  nextAt: instant.nullable(),
  waitsFor: z.enum(["grace", "confirmation", "reference", "fault", "quarantined"]).nullable(),
  reason: z.string().nullable().describe("what it waits for, or why it failed"),
  problem: currentProblem,
  handedTo: list(z.string()),
  references: references.describe("null if not known"),
});

export type RotationReport = Readonly<z.infer<typeof rotationReport>>;

export const listCredentials = route({
  method: "GET",
  path: "/credentials",
  role: "viewer",
  tag: "credentials",
  summary: "List the account's Credential Sets",
  query: z.strictObject(ofProfile),
  answer: pageOf("credentials", setReport),
});

export const listRotations = route({
  method: "GET",
  path: "/rotations",
  role: "viewer",
  tag: "credentials",
  summary: "List rotations, configured or in progress; of all profiles unless one is given",
  query: z.strictObject(ofProfile),
  answer: z.object({
    rotations: list(rotationReport),
    unknown: z.record(z.string(), z.string()).describe("why the platform could not be asked, by profile"),
  }),
});

export const showRotation = route({
  method: "GET",
  path: "/rotations/:name",
  role: "viewer",
  tag: "credentials",
  summary: "Get a rotation, without a call to the platform",
  params: ofRotation,
  answer: rotationReport,
});

export const rotateCredentials = route({
  method: "POST",
  path: "/rotations/:name/rotate",
  role: "admin",
  tag: "credentials",
  summary: "Rotate a secret, or resume its rotation",
  params: ofRotation,
  answer: rotationReport,
  status: 202,
});

export const confirmRotation = route({
  method: "POST",
  path: "/rotations/:name/confirm",
  role: "admin",
  tag: "credentials",
  summary: "Confirm that nothing references the old set",
  params: ofRotation,
  answer: rotationReport,
  status: 202,
});

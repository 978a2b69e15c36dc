/** The routes of Credential Sets, and of the rotations of their secrets. No response contains a secret. */
import { z } from "zod";
import { currentProblem, id, instant, list, ofProfile, pageOf } from "#contract/fields.ts";
import { deleteRoute, getRoute, route } from "#contract/route.ts";
import { credentialsIdForm } from "#fleet/rotation.ts";

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
  references: references.describe("null: the platform definition has no endpoint that lists references"),
  rotation: z.string().nullable().describe("name of the rotation that it belongs to"),
});

export type SetReport = Readonly<z.infer<typeof setReport>>;

export const changedSet = setReport.omit({ references: true, rotation: true });

/** The longest value that the platform and the encrypted record of a rotation can take. */
export const longestValue = 65_536;

const newSet = z.strictObject({
  type: z.string().min(1).max(64),
  description: z.string().max(200).optional(),
  value: z.string().min(1, "must not be empty").max(longestValue).describe("of one field, or a JSON object of all"),
  field: id.optional().describe("field that the value is for; by default the only field of the type"),
});

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

export const listCredentials = getRoute({
  path: "/credentials",
  summary: "List the account's Credential Sets",
  query: z.strictObject(ofProfile),
  answer: pageOf("credentials", setReport),
});

const credentialsId = z.string().regex(credentialsIdForm, "must be letters, digits, ., _ and -, at most 100");
const ofSet = {
  role: "admin",
  tag: "credentials",
  params: z.strictObject({ credentialsId: credentialsId.meta({ example: "coap" }) }),
  query: z.strictObject(ofProfile),
} as const;

export const createCredentials = route({
  ...ofSet,
  method: "POST",
  path: "/credentials/:credentialsId",
  did: "created the Credential Set",
  summary: "Create a Credential Set",
  body: newSet.meta({ example: { type: "psk", value: "the-new-key" } }),
  answer: changedSet,
  status: 201,
});

export const updateCredentials = route({
  ...ofSet,
  method: "POST",
  path: "/credentials/:credentialsId/update",
  did: "replaced the secret of the Credential Set",
  summary: "Replace the secret of a Credential Set",
  description: "Type and description stay unless others are given.",
  body: newSet.partial({ type: true }).meta({ example: { value: '{"key":"the-next-key"}' } }),
  answer: changedSet,
});

export const deleteCredentials = deleteRoute({
  ...ofSet,
  path: "/credentials/:credentialsId",
  did: "deleted the Credential Set",
  summary: "Delete a Credential Set to which no group refers",
});

export const listRotations = getRoute({
  tag: "credentials",
  path: "/rotations",
  summary: "List rotations, configured or in progress; of all profiles unless one is given",
  query: z.strictObject(ofProfile),
  answer: z.object({
    rotations: list(rotationReport),
    unknown: z.record(z.string(), z.string()).describe("why the platform could not be asked, by profile"),
  }),
});

const ofRotation = { params: z.strictObject({ name: id.meta({ example: "mqtt" }) }), answer: rotationReport } as const;
const change = { ...ofRotation, method: "POST", role: "admin", tag: "credentials", status: 202 } as const;

export const showRotation = getRoute({
  tag: "credentials",
  ...ofRotation,
  path: "/rotations/:name",
  summary: "Get a rotation, without a call to the platform",
});

export const rotateCredentials = route({
  ...change,
  path: "/rotations/:name/rotate",
  did: "rotated the secret",
  summary: "Rotate a secret, or resume its rotation",
});

export const confirmRotation = route({
  ...change,
  path: "/rotations/:name/confirm",
  did: "confirmed the rotation",
  summary: "Confirm that nothing references the old set",
});

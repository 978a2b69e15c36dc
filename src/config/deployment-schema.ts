/** The keys of a deployment file. All are optional. `null` for an operation or record removes the inherited one. */
import { z } from "zod";
import type { Problem } from "#core/errors.ts";
import {
  deploymentOperationIds,
  type DeploymentOperationId,
  templateFault,
  termsOf,
} from "#fleet/deployment-operation.ts";
import { parseRecordPath } from "#fleet/sim/record-path.ts";
import { isSpeedClass } from "#fleet/sim/sim.ts";
import { faultsOf } from "./faults.ts";
import { simOperations } from "./sim-operations.ts";
import { brand, expectedOf, webAddress as address } from "./value-types.ts";

/** The deployments that come with simfleet. */
export const builtIn = ["svc", "soracom"] as const;

const webAddress = z
  .string()
  .refine((text) => address.safeParse(text).success, `must be ${expectedOf(address)}`)
  .optional();

const recordPath = z
  .string()
  .transform((text, context) => {
    const path = parseRecordPath(text);
    if (path !== undefined) return path;
    context.addIssue(
      "must be names of letters, digits, - and _ joined by dots, with * for any name, such as profiles.*.primaryImsi",
    );
    return z.NEVER;
  })
  .nullish();

const field = z.string().regex(/^[A-Za-z][A-Za-z0-9_]{0,63}$/, "must be the name of a field: letters, digits and _");
const group = z.string().regex(/^[A-Za-z0-9_-]{1,40}$/, "must be the name of a group: letters, digits, - and _");
const quota = z.strictObject(
  { perIp: z.boolean("must be true or false") },
  "must be a mapping such as { perIp: true }",
);
const pathGroup = z.union(
  [group, z.strictObject({ group, quota: quota.optional() })],
  "must be the name of a group (letters, digits, - and _), or a mapping such as { group: Device, quota: { perIp: true } }",
);
const statuses = z
  .array(z.number().int().min(200).max(299), "must be a list such as [200]")
  .min(1, "must have a status that means success");

/** What a file says of one operation; what it leaves out comes from the deployment that it extends. */
function operation(id: DeploymentOperationId) {
  const { methods, extras } = termsOf(id);
  const path = (key: "path" | "userPath") =>
    z.string().superRefine((text, context) => {
      const fault = templateFault(text, { id, key });
      if (fault !== undefined) context.addIssue(fault);
    });
  const has = (key: (typeof extras)[number]) => extras.includes(key);
  const none = z.never(`is nothing that ${id} has`).optional();
  return z
    .strictObject({
      method: z.enum(methods, `must be ${methods.join(" or ")}`).nullish(),
      path: path("path").nullish(),
      userPath: has("userPath") ? path("userPath").nullish() : none,
      statuses: statuses.nullish(),
      group: group.nullish(),
      quota: quota.nullish(),
      userGroup: has("userGroup") ? group.nullish() : none,
      ttlField: has("ttlField") ? field.nullish() : none,
    })
    .nullish();
}

const operations = Object.fromEntries(deploymentOperationIds.map((id) => [id, operation(id)])) as Record<
  DeploymentOperationId,
  ReturnType<typeof operation>
>;

export const deploymentSchema = z.strictObject({
  extends: z.enum(builtIn, `must be ${builtIn.join(" or ")}`).optional(),
  brand: brand.optional(),
  endpoints: z.strictObject({ global: webAddress, japan: webAddress }).optional(),
  auth: z.strictObject({ ttlField: field.nullish() }).optional(),
  speedClasses: z.array(z.string().refine(isSpeedClass, "cannot be a speed class")).optional(),
  records: z.strictObject({ imsi: recordPath, subscription: recordPath }).optional(),
  credentialTypes: z
    .record(
      z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, "must be the name of a credential type"),
      z.array(field, "must be a list of the fields that it needs, such as [key]").min(1).nullable(),
    )
    .optional(),
  operations: z.strictObject(operations).optional(),
  apiGroups: z
    .record(
      z
        .string()
        .regex(
          /^(?=\/)(?:\/(?:[A-Za-z0-9_~-][A-Za-z0-9._~-]*|\*))*(?:\/\*\*)?$/,
          "must be a path such as /v1/sims/*/events, with * for a segment and ** for the rest",
        ),
      pathGroup.nullable(),
    )
    .optional(),
  simOperations: simOperations.optional(),
});

export type DeploymentFile = z.infer<typeof deploymentSchema>;

/** The faults of a file with the key of each; a key that is not known gets the one that was probably meant. */
export function problemsOf(error: z.ZodError, file: string): Problem[] {
  return faultsOf(error, { schema: deploymentSchema, noun: "key" }).map(({ where, message }) => ({
    where: where === "" ? file : `${file}: ${where}`,
    message,
  }));
}

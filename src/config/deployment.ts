/**
 * Loads a deployment, the description of one installation of the platform. Two are included (`svc`, `soracom`). A
 * custom file extends one of them (`svc` by default) and contains only the differences. docs/deployments.md lists every
 * key.
 */
import { fileURLToPath } from "node:url";
import { z } from "zod";
import type { Problem } from "#core/errors.ts";
import {
  type DeploymentOperation,
  deploymentOperationIds,
  type DeploymentOperationId,
  type DeploymentOperations,
  type PathGroup,
  templateFault,
  termsOf,
} from "#fleet/deployment-operation.ts";
import { parseRecordPath, type RecordPaths } from "#fleet/sim/record-path.ts";
import { isSpeedClass } from "#fleet/sim/sim.ts";
import { faultsOf } from "./report.ts";
import { suggestion } from "#core/suggest.ts";
import { setSpeedClass, type SimOperations } from "#fleet/sim-operation/sim-operation.ts";
import { simOperations, simOperationsOf } from "./sim-operations.ts";
import { brand, expectedOf, webAddress as address } from "./value-types.ts";
import { readYaml } from "./file/yaml-file.ts";

/** The deployments that come with simfleet. */
const builtIn = ["svc", "soracom"] as const;

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

const ownOperations = Object.fromEntries(deploymentOperationIds.map((id) => [id, operation(id)])) as Record<
  DeploymentOperationId,
  ReturnType<typeof operation>
>;

/** The keys of a file. All are optional. `null` for an operation or record removes the inherited one. */
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
  operations: z.strictObject(ownOperations).optional(),
  apiGroups: z
    .record(
      z
        .string()
        .regex(
          /^(?:(?:GET|POST|PUT|PATCH|DELETE) )?(?=\/)(?:\/(?:[A-Za-z0-9_~-][A-Za-z0-9._~-]*|\*))*(?:\/\*\*)?$/,
          "must be a path such as /v1/sims/*/events, with * for a segment and ** for the rest, maybe after a method: POST /v1/orders",
        ),
      pathGroup.nullable(),
    )
    .optional(),
  simOperations: simOperations.optional(),
});

type DeploymentFile = z.infer<typeof deploymentSchema>;

export interface Deployment {
  /** `svc`, `soracom`, or the path of the file. */
  readonly name: string;
  /** The word in the header names. */
  readonly brand: string;
  /** Base addresses without `/v1`. */
  readonly endpoints: { readonly global?: string | undefined; readonly japan?: string | undefined };
  /** The field of an authentication request that asks for a pair's lifetime, where it is known. */
  readonly ttlField: string | undefined;
  /** Speed classes that are known to exist; empty where none are listed, and never complete. */
  readonly speedClasses: readonly string[];
  /** Where a SIM's IMSI and subscription lie in its record. */
  readonly recordPaths: RecordPaths;
  /** The fields that a Credential Set of a type needs; a type that is not here can exist all the same. */
  readonly credentialTypes: Readonly<Record<string, readonly string[]>>;
  /** What the interface names but does not show; `requireOperation` asks for one. */
  readonly operations: DeploymentOperations;
  /** API groups by pattern of a path, for calls of the gateway that no operation describes. */
  readonly apiGroups: Readonly<Record<string, string | PathGroup>>;
  /** What runs can do to SIMs, by name. */
  readonly simOperations: SimOperations;
}

/**
 * Loads a deployment by name or by path.
 * @param problems takes every fault, named by file and key
 */
export function loadDeployment(nameOrPath: string, problems: Problem[]): Deployment {
  const isBuiltIn = builtIn.some((name) => name === nameOrPath);
  if (!isBuiltIn && /^[\w-]+$/.test(nameOrPath)) {
    const meant = suggestion(nameOrPath, builtIn);
    problems.push({
      where: "deployment",
      message: `There is no deployment ${nameOrPath}.${meant} Known: ${builtIn.join(" and ")}; a file path contains a / or a dot.`,
    });
    return emptyDeployment(nameOrPath);
  }
  const file = isBuiltIn
    ? fileURLToPath(new URL(`../../config/deployments/${nameOrPath}.yaml`, import.meta.url))
    : nameOrPath;
  const before = problems.length;
  const tree = readYaml(file, problems);
  if (problems.length > before) return emptyDeployment(nameOrPath);
  const read = deploymentSchema.safeParse(tree);
  if (!read.success) {
    for (const { where, message } of faultsOf(read.error, { schema: deploymentSchema, noun: "key" })) {
      problems.push({ where: where === "" ? file : `${file}: ${where}`, message });
    }
    return emptyDeployment(nameOrPath);
  }
  const base =
    nameOrPath === "svc" ? emptyDeployment(nameOrPath) : loadDeployment(read.data.extends ?? "svc", problems);
  const ofSims = simOperationsOf(base.simOperations, read.data.simOperations ?? {}, {
    at: `${file}: simOperations`,
    problems,
  });
  const deployment = { ...extended(base, read.data, nameOrPath), simOperations: ofSims };
  problems.push(...incomplete(deployment, file));
  return deployment;
}

function emptyDeployment(name: string): Deployment {
  return {
    name,
    brand: "Svc",
    endpoints: {},
    ttlField: undefined,
    speedClasses: [],
    recordPaths: {},
    credentialTypes: {},
    operations: {},
    apiGroups: {},
    simOperations: new Map([[setSpeedClass.name, setSpeedClass]]),
  };
}

function extended(base: Deployment, own: DeploymentFile, name: string): Omit<Deployment, "simOperations"> {
  const ttlField = own.auth?.ttlField;
  return {
    name,
    brand: own.brand ?? base.brand,
    endpoints: { ...base.endpoints, ...own.endpoints },
    ttlField: ttlField === undefined ? base.ttlField : (ttlField ?? undefined),
    speedClasses: own.speedClasses ?? base.speedClasses,
    recordPaths: over(base.recordPaths, own.records),
    credentialTypes: over(base.credentialTypes, own.credentialTypes),
    operations: extendedOperations(base.operations, own.operations),
    apiGroups: over(base.apiGroups, own.apiGroups),
  };
}

function extendedOperations(
  base: DeploymentOperations,
  own: NonNullable<DeploymentFile["operations"]> = {},
): DeploymentOperations {
  const operations: Partial<Record<DeploymentOperationId, DeploymentOperation | undefined>> = { ...base };
  for (const id of deploymentOperationIds) {
    const change = own[id];
    if (change === null) delete operations[id];
    else if (change !== undefined) operations[id] = over(base[id] ?? {}, change) as DeploymentOperation;
  }
  return operations;
}

/** One mapping over another, key by key; null takes a key away. */
function over<T extends object>(base: T, own: { readonly [K in keyof T]?: T[K] | null | undefined } | undefined): T {
  const entries = Object.entries(own ?? {}).filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    Object.entries({ ...base, ...Object.fromEntries(entries) }).filter(([, value]) => value !== null),
  ) as T;
}

/** Operations that neither the file nor what it extends says everything of. */
function incomplete({ operations }: Deployment, file: string): Problem[] {
  return deploymentOperationIds.flatMap((id) => {
    const described = operations[id];
    if (described === undefined) return [];
    const missing = (["method", "path", "statuses", "group"] as const).filter((key) => described[key] === undefined);
    return missing.map((key) => ({
      where: `${file}: operations.${id}.${key}`,
      message: "is missing; an operation needs method, path, statuses and group.",
    }));
  });
}

/**
 * Loads a deployment, the description of one installation of the platform. Two are included (`svc`, `soracom`). A
 * custom file extends one of them (`svc` by default) and contains only the differences. docs/reference/platform-definitions.md lists every
 * key.
 */
import { fileURLToPath } from "node:url";
import { z } from "zod";
import type { Problem } from "#core/errors.ts";
import {
  deploymentOperationIds,
  type DeploymentOperationId,
  templateFault,
  operationOptions,
} from "#fleet/deployment-operation.ts";
import { parseRecordPath } from "#fleet/sim/record-path.ts";
import { isSpeedClass } from "#fleet/sim/sim.ts";
import { faultsOf } from "./report.ts";
import { suggestion } from "#core/suggest.ts";
import { groupForm, groupWords, simOperations } from "./sim-operations.ts";
import { brand, expectedOf, isDeploymentFile, webAddress as address } from "./value-types.ts";
import { isTree, readYaml, type Tree } from "./file/yaml-file.ts";

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
  .optional();

/** An operation needs this key; `words` say what it must be. */
function needed(words: string) {
  const missing = "is missing; an operation needs method, path, statuses and group.";
  return { error: ({ input }: { readonly input?: unknown }) => (input === undefined ? missing : words) };
}

const field = z.string().regex(/^[A-Za-z][A-Za-z0-9_]{0,63}$/, "must be the name of a field: letters, digits and _");
const group = z.string(needed(groupWords)).regex(groupForm, groupWords);
const callQuota = z.strictObject(
  { perIp: z.boolean("must be true or false") },
  "must be a mapping such as { perIp: true }",
);
const pathGroup = z.union(
  [group, z.strictObject({ group, quota: callQuota.optional() })],
  "must be the name of a group (letters, digits, - and _), or a mapping such as { group: Device, quota: { perIp: true } }",
);
const statuses = z
  .array(z.number().int().min(200).max(299), needed("must be a list such as [200]"))
  .min(1, "must have a status that means success");

function operation(id: DeploymentOperationId) {
  const { methods, extras } = operationOptions[id];
  const path = (key: "path" | "userPath") =>
    z.string(needed("must be text")).superRefine((text, context) => {
      const fault = templateFault(text, { id, key });
      if (fault !== undefined) context.addIssue(fault);
    });
  const has = (key: (typeof extras)[number]) => extras.includes(key);
  const none = z.never(`is nothing that ${id} has`).optional();
  return z
    .strictObject({
      method: z.enum(methods, needed(`must be ${methods.join(" or ")}`)),
      path: path("path"),
      userPath: has("userPath") ? path("userPath").optional() : none,
      statuses,
      group,
      quota: callQuota.optional(),
      userGroup: has("userGroup") ? group.optional() : none,
      ttlField: has("ttlField") ? field.optional() : none,
    })
    .optional();
}

const operations = Object.fromEntries(deploymentOperationIds.map((id) => [id, operation(id)])) as Record<
  DeploymentOperationId,
  ReturnType<typeof operation>
>;

/** The keys of a file, completed with those of what it extends. */
export const deploymentSchema = z.strictObject({
  extends: z.enum(builtIn, `must be ${builtIn.join(" or ")}`).optional(),
  /** The word in the header names. */
  brand: brand.default("Svc"),
  /** Base addresses without `/v1`. */
  endpoints: z.strictObject({ global: webAddress, japan: webAddress }).default({}),
  auth: z.strictObject({ ttlField: field.optional() }).default({}),
  /** Who has the quota of an API group: the operator with all its users, or each user. */
  quota: z
    .strictObject({ scope: z.enum(["operator", "principal"], "must be operator or principal").default("operator") })
    .default({ scope: "operator" }),
  /** Speed classes that are known to exist; empty where none are listed, and never complete. */
  speedClasses: z.array(z.string().refine(isSpeedClass, "cannot be a speed class")).default([]),
  records: z.strictObject({ imsi: recordPath, subscription: recordPath }).default({}),
  /** The fields that a Credential Set of a type needs; a type that is not here can exist all the same. */
  credentialTypes: z
    .record(
      z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, "must be the name of a credential type"),
      z.array(field, "must be a list of the fields that it needs, such as [key]").min(1),
    )
    .default({}),
  /** Endpoints that the interface names but does not describe; see `requireOperation`. */
  operations: z.strictObject(operations).default({}),
  /** API groups by pattern of a path, for calls of the gateway that no operation describes. */
  apiGroups: z
    .record(
      z
        .string()
        .regex(
          /^(?:(?:GET|POST|PUT|PATCH|DELETE) )?(?=\/)(?:\/(?:[A-Za-z0-9_~-][A-Za-z0-9._~-]*|\*))*(?:\/\*\*)?$/,
          "must be a path such as /v1/sims/*/events, with * for a segment and ** for the rest, maybe after a method: POST /v1/orders",
        ),
      pathGroup,
    )
    .default({}),
  simOperations: simOperations.prefault({}),
  /** Where exported files may be downloaded from: hosts, each with what is below it. */
  downloads: z
    .strictObject({
      hosts: z
        .array(
          z.string().regex(/^[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?$/, "must be a host such as files.example.com"),
          "must be a list of hosts",
        )
        .default([]),
    })
    .default({ hosts: [] }),
});

export type Deployment = Readonly<ReturnType<typeof loadDeployment>>;

/**
 * Loads a deployment by name or by path.
 * @param problems takes every fault, named by file and key
 */
export function loadDeployment(nameOrPath: string, problems: Problem[]) {
  const before = problems.length;
  const { file, own } = readDeployment(nameOrPath, problems);
  const read = deploymentSchema.safeParse(problems.length > before ? {} : completed(own, nameOrPath));
  for (const { where, message } of read.success
    ? []
    : faultsOf(read.error, { schema: deploymentSchema, noun: "key" })) {
    problems.push({ where: where === "" ? file : `${file}: ${where}`, message });
  }
  const { extends: _, auth, records, ...rest } = read.data ?? deploymentSchema.parse({});
  return {
    ...rest,
    /** `svc`, `soracom`, or the path of the file. */
    name: nameOrPath,
    /** The field of an authentication request that asks for a pair's lifetime, where it is known. */
    ttlField: auth.ttlField,
    /** Where a SIM's IMSI and subscription lie in its record. */
    recordPaths: records,
  };
}

function readDeployment(nameOrPath: string, problems: Problem[]): { file: string; own: Tree } {
  const isBuiltIn = builtIn.some((name) => name === nameOrPath);
  if (!isBuiltIn && !isDeploymentFile(nameOrPath)) {
    const meant = suggestion(nameOrPath, builtIn);
    problems.push({
      where: "deployment",
      message: `There is no platform definition ${nameOrPath}.${meant} Known: ${builtIn.join(" and ")}; a file path contains a / or a dot.`,
    });
    return { file: nameOrPath, own: {} };
  }
  const file = isBuiltIn
    ? fileURLToPath(new URL(`../../config/deployments/${nameOrPath}.yaml`, import.meta.url))
    : nameOrPath;
  return { file, own: readYaml(file, problems).tree };
}

/** A file over what it extends. */
function completed(own: Tree, name: string): Tree {
  if (name === "svc") return own;
  const base = builtIn.find((one) => one === own["extends"]) ?? "svc";
  const inherited = completed(readDeployment(base, []).own, base);
  // Single keys of an operation can be changed; other entries are replaced as a whole.
  return over(inherited, own, (section) => (section === "operations" ? 2 : 1));
}

/** One mapping over another, as many levels deep below a key as `levels` says; null takes a key away. */
function over(base: Tree, own: Tree, levels: (key: string) => number): Tree {
  const merged: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(own)) {
    const left = levels(key);
    if (value === null) delete merged[key];
    else if (left === 0 || !isTree(value)) merged[key] = value;
    else merged[key] = over(isTree(base[key]) ? base[key] : {}, value, () => left - 1);
  }
  return merged;
}

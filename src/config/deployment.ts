/**
 * Loads a platform definition: what simfleet has to know of one platform. Two are included (`svc`, `soracom`). A
 * custom file extends one of them (`svc` by default) and contains only the differences.
 * docs/reference/platform-definitions.md lists every key.
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
import { faultsOf, wordsOf } from "./report.ts";
import { suggestion } from "#core/suggest.ts";
import { isPlainObject } from "#core/json.ts";
import { faultsOfOperation, groupName, simOperations, statuses } from "./sim-operations.ts";
import { brand, expecting, isDeploymentFile, oneOf, text, webAddress, yesOrNo } from "./value-types.ts";
import { readYaml, type Tree } from "./file/yaml-file.ts";

/** The platform definitions that come with simfleet. */
const builtIn = ["svc", "soracom"] as const;

const recordPath = expecting(
  "names of letters, digits, - and _ joined by dots, with * for any name, such as profiles.*.primaryImsi",
  z.string().refine((written) => parseRecordPath(written) !== undefined),
).transform(parseRecordPath);

const field = text("the name of a field: letters, digits and _", /^[A-Za-z][A-Za-z0-9_]{0,63}$/);
const callQuota = expecting("a mapping such as { perIp: true }", z.strictObject({ perIp: yesOrNo }));
const pathGroup = expecting(
  "the name of a group (letters, digits, - and _), or a mapping such as { group: Device, quota: { perIp: true } }",
  z.union([groupName, z.strictObject({ group: groupName, quota: callQuota.optional() })]),
);

function operation(id: DeploymentOperationId) {
  const { methods, extras } = operationOptions[id];
  const path = (key: "path" | "userPath") =>
    text("a path").superRefine((written, context) => {
      const fault = templateFault(written, { id, key });
      if (fault !== undefined) context.addIssue(fault);
    });
  const has = (key: (typeof extras)[number]) => extras.includes(key);
  const none = z.never(`is nothing that ${id} has`).optional();
  return z
    .strictObject({
      method: expecting(methods.join(" or "), z.enum(methods)),
      path: path("path"),
      userPath: has("userPath") ? path("userPath").optional() : none,
      statuses,
      group: groupName,
      quota: callQuota.optional(),
      userGroup: has("userGroup") ? groupName.optional() : none,
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
  extends: oneOf(builtIn).optional(),
  /** The word in the header names. */
  brand: brand.default("Svc"),
  /** Base addresses without `/v1`. */
  endpoints: z.strictObject({ global: webAddress.optional(), japan: webAddress.optional() }).default({}),
  auth: z.strictObject({ ttlField: field.optional() }).default({}),
  /** Who has the quota of an API group: the operator with all its users, or each user. */
  quota: z.strictObject({ scope: oneOf(["operator", "principal"]).default("operator") }).prefault({}),
  /** Speed classes that are known to exist; empty where none are listed, and never complete. */
  speedClasses: z.array(z.string().refine(isSpeedClass, "cannot be a speed class")).default([]),
  records: z.strictObject({ imsi: recordPath.optional(), subscription: recordPath.optional() }).default({}),
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
        .array(text("a host such as files.example.com", /^[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?$/))
        .default([]),
    })
    .prefault({}),
});

export type Deployment = Readonly<ReturnType<typeof loadDeployment>>;

/**
 * Loads a platform definition by name or by path.
 * @param problems takes every fault, named by file and key
 */
export function loadDeployment(nameOrPath: string, problems: Problem[]) {
  const before = problems.length;
  const { file, own } = readDeployment(nameOrPath, problems);
  const input = problems.length > before ? {} : completed(own, nameOrPath);
  const read = deploymentSchema.safeParse(input, { error: (issue) => wordsOf(deploymentSchema, input, issue) });
  for (const { where, message } of read.success
    ? []
    : faultsOf(read.error, { schema: deploymentSchema, noun: "key" })) {
    problems.push({ where: where === "" ? file : `${file}: ${where}`, message });
  }
  const { extends: _, auth, records, ...rest } = read.data ?? deploymentSchema.parse({});
  // Those that it inherits may undo with one that it takes away.
  for (const name of isPlainObject(own["simOperations"]) ? Object.keys(own["simOperations"]) : []) {
    for (const [key, message] of faultsOfOperation(name, rest.simOperations)) {
      problems.push({ where: [`${file}: simOperations`, name, key].filter(Boolean).join("."), message });
    }
  }
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
    else if (left === 0 || !isPlainObject(value)) merged[key] = value;
    else merged[key] = over(isPlainObject(base[key]) ? base[key] : {}, value, () => left - 1);
  }
  return merged;
}

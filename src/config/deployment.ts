/**
 * Loads a deployment, the description of one installation of the platform. Two are included (`svc`, `soracom`). A
 * custom file extends one of them (`svc` by default) and contains only the differences. docs/deployments.md lists every
 * key.
 */
import { fileURLToPath } from "node:url";
import type { Problem } from "#core/errors.ts";
import {
  type DeploymentOperation,
  deploymentOperationIds,
  type DeploymentOperationId,
  type DeploymentOperations,
  type PathGroup,
} from "#fleet/deployment-operation.ts";
import type { RecordPaths } from "#fleet/sim/record-path.ts";
import { builtIn, type DeploymentFile, deploymentSchema, problemsOf } from "./deployment-schema.ts";
import { suggestion } from "#core/suggest.ts";
import { setSpeedClass, type SimOperations } from "#fleet/sim-operation/sim-operation.ts";
import { simOperationsOf } from "./sim-operations.ts";
import { readYaml } from "./file/yaml-file.ts";

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
    problems.push(...problemsOf(read.error, file));
    return emptyDeployment(nameOrPath);
  }
  const base =
    nameOrPath === "svc" ? emptyDeployment(nameOrPath) : loadDeployment(read.data.extends ?? "svc", problems);
  const simOperations = simOperationsOf(base.simOperations, read.data.simOperations ?? {}, {
    at: `${file}: simOperations`,
    problems,
  });
  const deployment = { ...extended(base, read.data, nameOrPath), simOperations };
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

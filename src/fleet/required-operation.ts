/**
 * The error for a feature whose required operation the platform definition does not describe: it names the operation
 * and shows the lines to add. A missing operation is only an error once someone uses the feature, so it is checked here
 * and not at load.
 */
import { ConfigError, type Problem } from "#core/errors.ts";
import {
  type DeploymentOperation,
  type DeploymentOperationId,
  type DeploymentOperations,
  operationOptions,
} from "./deployment-operation.ts";

export interface Deployment {
  /** `svc`, `soracom`, or the path of a file. */
  readonly name: string;
  readonly operations: DeploymentOperations;
}

/**
 * Returns the description of an operation.
 * @param feature the purpose, as the start of a sentence: `Rotating AuthKeys`
 * @throws ConfigError that names feature, operation and platform definition and shows the lines to add
 */
export function requireOperation(
  deployment: Deployment,
  id: DeploymentOperationId,
  feature: string,
): DeploymentOperation {
  return requireOperations(deployment, [id], feature)[id];
}

/**
 * Returns the descriptions of several operations; all missing ones are reported at once.
 * @throws ConfigError as `requireOperation`
 */
export function requireOperations<Id extends DeploymentOperationId>(
  deployment: Deployment,
  ids: readonly Id[],
  feature: string,
): Record<Id, DeploymentOperation> {
  const missing = ids.filter((id) => deployment.operations[id] === undefined);
  if (missing.length > 0) throw new ConfigError([toProblem(deployment, missing, feature)]);
  return deployment.operations as Record<Id, DeploymentOperation>;
}

function toProblem({ name }: Deployment, ids: readonly DeploymentOperationId[], feature: string): Problem {
  const isFile = /[./\\]/.test(name);
  const they = ids.length === 1 ? "this operation" : "these operations";
  const place = isFile ? `Add to ${name}` : "Put into a platform definition of your own, and name it as `deployment`";
  const lines = [
    ...(isFile ? [] : [`extends: ${name}`]),
    "operations:",
    ...ids.flatMap((id) => [`  ${id}:`, ...formatYaml(operationOptions[id].example).map((line) => `    ${line}`)]),
  ];
  return {
    where: ids.map((id) => `operations.${id}`).join(", "),
    message:
      `${feature} needs ${they}, and the platform definition ${name} does not have ${ids.length === 1 ? "it" : "them"}. ` +
      `${place}, with the values of your platform (docs/reference/platform-definitions.md):\n` +
      lines.map((line) => `      ${line}`).join("\n"),
  };
}

/** Formats lines as block-style YAML; a flow mapping would interpret the braces of a path. */
function formatYaml(example: DeploymentOperation): string[] {
  return Object.entries(example).map(
    ([key, value]) => `${key}: ${Array.isArray(value) ? `[${value.join(", ")}]` : value}`,
  );
}

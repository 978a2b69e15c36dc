/**
 * What a deployment file says of an operation, turned into the parts of an Operation. What goes out and how the answer
 * is read is ours alone; method, path, statuses and group are the deployment's. Its templates were checked at load; the
 * allow-lists here are for what is filled in.
 */
import { ConfigError } from "#core/errors.ts";
import type { DeploymentOperation, DeploymentOperationId, Placeholder } from "#fleet/deployment-operation.ts";
import type { Operation, PathParameter } from "./operation.ts";

/** Who AuthKeys belong to: the Root user, or a sub-user by name. */
export interface Owner {
  readonly operatorId: string;
  /** Absent: the Root user. */
  readonly userName?: string | undefined;
}

type Parts<I> = Pick<
  Operation<I, unknown>,
  "id" | "method" | "path" | "parameters" | "quota" | "authenticated" | "successStatuses"
>;

/** The parts of an operation on what belongs to the account. */
export function described<I>(
  id: DeploymentOperationId,
  description: DeploymentOperation,
  values: Values<I>,
): Parts<I> & { readonly parameters: readonly PathParameter<I>[] } {
  return partsOf({ id, description, path: description.path, group: description.group, values });
}

/**
 * The parts of an operation on what belongs to one owner: by `path` for the Root user, by `userPath` for a
 * sub-user, under an id of its own (`listAuthKeysOfUser`), since the two may spend different quotas.
 * @throws ConfigError when it is for a sub-user and the deployment has no `userPath`
 */
export function describedFor<I>(
  owner: Owner,
  { id, description, values }: { id: DeploymentOperationId; description: DeploymentOperation; values: Values<I> },
): Parts<I> & { readonly parameters: readonly PathParameter<I>[] } {
  const { operatorId, userName } = owner;
  const all = { ...values, operatorId: () => operatorId };
  if (userName === undefined) return described(id, description, all);
  const { userPath: path, userGroup: group = description.group } = description;
  if (path === undefined) throw withoutUserPath(id, userName);
  const ofUser = { ...all, userName: () => userName };
  return partsOf({ id: `${id}OfUser`, description, path, group, values: ofUser });
}

type Values<I> = Partial<Record<Placeholder, (input: I) => string>>;

function partsOf<I>(deps: {
  id: string;
  description: DeploymentOperation;
  path: string;
  group: string;
  values: Values<I>;
}): Parts<I> & { readonly parameters: readonly PathParameter<I>[] } {
  const { id, description, path, group, values } = deps;
  const marks = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as Placeholder);
  const parameters = marks.map((name) => {
    const of = values[name];
    if (of === undefined) throw new RangeError(`${id}: nothing to fill {${name}} with`);
    return { name, isAllowed: isAllowedAs[name], of };
  });
  return {
    ...{ id, method: description.method, path, parameters, quota: { group } },
    ...{ authenticated: true, successStatuses: description.statuses },
  };
}

const isAllowedAs: Record<Placeholder, (text: string) => boolean> = {
  operatorId: isPlainId,
  userName: (text) => /^[A-Za-z0-9_][A-Za-z0-9._@-]{0,127}$/.test(text),
  authKeyId: isPlainId,
  credentialsId: isCredentialsId,
  groupId: isPlainId,
  namespace: isPlainId,
};

function isPlainId(text: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/.test(text);
}

/** What a caller may choose for a Credential Set: it begins with a letter or digit, so that it is never `..`. */
export function isCredentialsId(text: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(text);
}

function withoutUserPath(id: DeploymentOperationId, userName: string): ConfigError {
  return new ConfigError([
    {
      where: `operations.${id}.userPath`,
      message:
        `is not in the deployment, so the AuthKeys of the sub-user ${userName} cannot be managed. Add it beside ` +
        `operations.${id}.path, with {operatorId} and {userName} (docs/deployments.md).`,
    },
  ]);
}

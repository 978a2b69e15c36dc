/**
 * Turns the description of an operation in a deployment file into the parts of an Operation. The deployment provides
 * method, path, statuses and group; request body and response parsing are defined in code. Templates are validated at
 * load; the allow-lists here apply to the values filled in.
 */
import { ConfigError } from "#core/errors.ts";
import type { DeploymentOperation, DeploymentOperationId, Placeholder } from "#fleet/deployment-operation.ts";
import { credentialsIdForm } from "#fleet/rotation.ts";
import { isImsi, isSimId } from "#fleet/sim/sim.ts";
import { type Operation, type PathParameter, quotaOf } from "./operation.ts";
import { z } from "zod";
import { type SimRecord, simRecord } from "./sims.ts";

/** Who AuthKeys belong to: the Root user, or a sub-user by name. */
export interface Owner {
  readonly operatorId: string;
  /** User of the platform. Absent: the Root user. */
  readonly userName?: string | undefined;
}

type Parts<I> = Pick<
  Operation<I, unknown>,
  "id" | "method" | "path" | "parameters" | "quota" | "authenticated" | "successStatuses"
>;

/** The parts of an operation on something that belongs to the account. */
export function described<I>(
  id: DeploymentOperationId,
  description: DeploymentOperation,
  values: Values<I>,
): Parts<I> & { readonly parameters: readonly PathParameter<I>[] } {
  return partsOf({ id, description, path: description.path, group: description.group, values });
}

/**
 * The parts of an operation on something that belongs to one owner: `path` for the Root user, `userPath` for a
 * sub-user, under a separate operation id (`listAuthKeysOfUser`), since the two may spend different quotas.
 * @throws ConfigError for a sub-user if the deployment has no `userPath`
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
    id,
    method: description.method,
    path,
    parameters,
    quota: quotaOf({ group, quota: description.quota }, id),
    authenticated: true,
    successStatuses: description.statuses,
  };
}

const isAllowedAs: Record<Placeholder, (text: string) => boolean> = {
  operatorId: isPlainId,
  userName: (text) => /^[A-Za-z0-9_][A-Za-z0-9._@-]{0,127}$/.test(text),
  authKeyId: isPlainId,
  credentialsId: isCredentialsId,
  groupId: isPlainId,
  namespace: isPlainId,
  simId: isSimId,
  imsi: isImsi,
  exportedFileId: isPlainId,
};

function isPlainId(text: string): boolean {
  return /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/.test(text);
}

export function isCredentialsId(text: string): boolean {
  return credentialsIdForm.test(text);
}

function withoutUserPath(id: DeploymentOperationId, userName: string): ConfigError {
  return new ConfigError([
    {
      where: `operations.${id}.userPath`,
      message:
        `is not in the platform definition, so the AuthKeys of the sub-user ${userName} cannot be managed. Add it next to ` +
        `operations.${id}.path, with {operatorId} and {userName} (docs/reference/platform-definitions.md).`,
    },
  ]);
}

// Reads one SIM's record, as the deployment describes it.

export interface OneSim {
  /** SIM ID or IMSI, as the path of the operation has it. */
  readonly key: string;
}

export type ReadSim = Operation<OneSim, SimRecord>;

export function getSim(description: DeploymentOperation): ReadSim {
  return { ...ofOneSim("getSim", description), output: simRecord };
}

/** One entry of a SIM's status history; fields that the interface does not show are kept. */
export type StatusEntry = Readonly<Record<string, unknown>>;

export type ReadStatusHistory = Operation<OneSim, readonly StatusEntry[]>;

/** The latest changes of a SIM's status, in the platform's order. */
export function getSimStatusHistory(description: DeploymentOperation): ReadStatusHistory {
  return { ...ofOneSim("getSimStatusHistory", description), output: z.array(z.looseObject({})) };
}

function ofOneSim(id: DeploymentOperationId, description: DeploymentOperation) {
  const keyOf = ({ key }: OneSim): string => key;
  return { ...described<OneSim>(id, description, { simId: keyOf, imsi: keyOf }), replay: "safe" } as const;
}

/**
 * Turns the description of an operation in a platform definition into an Operation. The definition provides method,
 * path, statuses and group; request body and response parsing are defined in code. Templates are validated at load; the
 * allow-lists here apply to the values filled in.
 */
import { ConfigError } from "#core/errors.ts";
import type { DeploymentOperation, DeploymentOperationId, Placeholder } from "#fleet/deployment-operation.ts";
import { credentialsIdForm } from "#fleet/rotation.ts";
import { isImsi, isSimId } from "#fleet/sim/sim.ts";
import { type Operation, type PathParameter, quotaOf } from "./operation.ts";
import { z } from "zod";
import { simRecord } from "./sims.ts";

/** Who AuthKeys belong to: the Root user, or a sub-user by name. */
export interface Owner {
  readonly operatorId: string;
  /** User of the platform. Absent: the Root user. */
  readonly userName?: string | undefined;
}

/** Parts of an operation of whose success only the status counts. */
export const ignoresAnswer = { answer: "status", output: z.undefined() } as const;

type Fillings<I> = Partial<Record<Placeholder, (input: I) => string>>;

/** The parts of an operation that code defines; its call may be repeated unless it says otherwise. */
interface Parts<I, O> extends Pick<Operation<I, O>, "query" | "body" | "answer" | "output"> {
  readonly replay?: "unsafe";
  /** Values of the placeholders of the path, besides the owner. */
  readonly fillings?: Fillings<I>;
}

/**
 * Declares an operation on something that belongs to the account, or to one owner. That of a sub-user has the path
 * `userPath` and an operation id of its own (`listAuthKeysOfUser`), since it may spend another quota.
 * @returns makes the operation from its description; throws ConfigError for a sub-user if it has no `userPath`
 */
export function describedOperation<I, O>(id: DeploymentOperationId, { fillings, ...parts }: Parts<I, O>) {
  return (description: DeploymentOperation, owner: Partial<Owner> = {}): Operation<I, O> => {
    const { method, path: ownPath, userPath, group: ownGroup, userGroup = ownGroup, quota, statuses } = description;
    const { operatorId, userName } = owner;
    if (userName !== undefined && userPath === undefined) throw withoutUserPath(id, userName);
    const isOfUser = userName !== undefined && userPath !== undefined;
    const [name, path, group] = isOfUser ? [`${id}OfUser`, userPath, userGroup] : [id, ownPath, ownGroup];
    const all: Fillings<I> = {
      ...(operatorId === undefined ? {} : { operatorId: () => operatorId }),
      ...(userName === undefined ? {} : { userName: () => userName }),
      ...fillings,
    };
    const parameters = Array.from(path.matchAll(/\{(\w+)\}/g), ([, mark]): PathParameter<I> => {
      const placeholder = mark as Placeholder;
      const of = all[placeholder];
      if (of === undefined) throw new RangeError(`${name}: nothing to fill {${placeholder}} with`);
      return { name: placeholder, isAllowed: isAllowedAs[placeholder], of };
    });
    return {
      id: name,
      method,
      path,
      parameters,
      quota: quotaOf({ group, quota }, name),
      authenticated: true,
      replay: "safe",
      successStatuses: statuses,
      ...parts,
    };
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

// Reads one SIM, as the platform definition describes it.

export interface OneSim {
  /** SIM ID or IMSI, as the path of the operation has it. */
  readonly key: string;
}

const keyOf = ({ key }: OneSim): string => key;
const ofOneSim = { simId: keyOf, imsi: keyOf };

export const getSim = describedOperation("getSim", { fillings: ofOneSim, output: simRecord });

/** The latest changes of a SIM's status, in the platform's order; fields that the interface does not show are kept. */
export const getSimStatusHistory = describedOperation("getSimStatusHistory", {
  fillings: ofOneSim,
  output: z.array(z.looseObject({})),
});

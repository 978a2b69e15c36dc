/**
 * Groups and their configuration (interface, section 1): where a Credential Set is referred to. The fields of a group's
 * record are not shown in the interface, so all but its id pass through. The operations are the deployment's to describe.
 */
import { z } from "zod";
import type { DeploymentOperation } from "#fleet/deployment-operation.ts";
import { described, type Owner } from "./described.ts";
import type { Operation } from "./operation.ts";
import { type ListInput, pageQuery } from "./sims.ts";

export interface GroupRecord {
  readonly groupId: string;
  /** By namespace, then by key. People put secrets into it: it is neither logged nor stored. */
  readonly configuration?: Readonly<Record<string, unknown>> | null | undefined;
  readonly [field: string]: unknown;
}

export interface ConfigurationInput {
  readonly groupId: string;
  readonly namespace: string;
  /** What is set; keys of the namespace that are not here stay as they are. */
  readonly entries: Readonly<Record<string, unknown>>;
}

type Account = Pick<Owner, "operatorId">;

/** Lists groups page by page. */
export function listGroups(description: DeploymentOperation, account: Account): Operation<ListInput, GroupRecord[]> {
  return {
    ...described<ListInput>("listGroups", description, { operatorId: () => account.operatorId }),
    replay: "safe",
    query: pageQuery,
    output: z.array(
      z.looseObject({ groupId: z.string().min(1), configuration: z.record(z.string(), z.unknown()).nullish() }),
    ),
  };
}

/** Sets keys in one namespace of a group's configuration; doing it twice changes nothing more. */
export function putGroupConfiguration(
  description: DeploymentOperation,
  account: Account,
): Operation<ConfigurationInput, undefined> {
  return {
    ...described<ConfigurationInput>("putGroupConfiguration", description, {
      operatorId: () => account.operatorId,
      groupId: (input) => input.groupId,
      namespace: (input) => input.namespace,
    }),
    replay: "safe",
    body: ({ entries }) => Object.entries(entries).map(([key, value]) => ({ key, value })),
    answer: "status",
    output: z.undefined(),
  };
}

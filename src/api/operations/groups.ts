/**
 * Groups and their configuration (interface, section 1), which reference Credential Sets. The interface does not show
 * the fields of a group's record, so all but its id pass through. The deployment describes the operations.
 */
import { z } from "zod";
import type { DeploymentOperation } from "#fleet/deployment-operation.ts";
import { described, ignoresAnswer, type Owner } from "./described.ts";
import type { Operation } from "./operation.ts";
import { type ListInput, pageQuery } from "./sims.ts";

export interface GroupRecord {
  readonly groupId: string;
  /** By namespace, then by key. Users put secrets into it: it is neither logged nor stored. */
  readonly configuration?: Readonly<Record<string, unknown>> | null | undefined;
  readonly [field: string]: unknown;
}

export interface ConfigurationInput {
  readonly groupId: string;
  readonly namespace: string;
  /** The keys to set; other keys of the namespace are left unchanged. */
  readonly entries: Readonly<Record<string, unknown>>;
}

type Account = Pick<Owner, "operatorId">;

/** Lists groups page by page. */
export function listGroups(description: DeploymentOperation, account: Account): Operation<ListInput, GroupRecord[]> {
  return {
    ...described("listGroups", description, {}, { operatorId: account.operatorId }),
    query: pageQuery,
    output: z.array(
      z.looseObject({ groupId: z.string().min(1), configuration: z.record(z.string(), z.unknown()).nullish() }),
    ),
  };
}

/** Sets keys in one namespace of a group's configuration; idempotent. */
export function putGroupConfiguration(
  description: DeploymentOperation,
  account: Account,
): Operation<ConfigurationInput, undefined> {
  const groupId = (input: ConfigurationInput): string => input.groupId;
  const namespace = (input: ConfigurationInput): string => input.namespace;
  return {
    ...described("putGroupConfiguration", description, { groupId, namespace }, { operatorId: account.operatorId }),
    body: ({ entries }) => Object.entries(entries).map(([key, value]) => ({ key, value })),
    ...ignoresAnswer,
  };
}

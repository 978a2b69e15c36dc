/**
 * Groups and their configuration (interface, section 1), which reference Credential Sets. The interface does not show
 * the fields of a group's record, so all but its id pass through. The platform definition describes the operations.
 */
import { z } from "zod";
import { describedOperation, ignoresAnswer } from "./described.ts";
import { type ListInput, pageQuery } from "./sims.ts";

interface ConfigurationInput {
  readonly groupId: string;
  readonly namespace: string;
  /** The keys to set; other keys of the namespace are left unchanged. */
  readonly entries: Readonly<Record<string, unknown>>;
}

const group = z.looseObject({
  groupId: z.string().min(1),
  /** By namespace, then by key. Users put secrets into it: it is neither logged nor stored. */
  configuration: z.record(z.string(), z.unknown()).nullish(),
});

export type GroupRecord = Readonly<z.output<typeof group>>;

/** Lists groups page by page. */
export const listGroups = describedOperation<ListInput, GroupRecord[]>("listGroups", {
  query: pageQuery,
  output: z.array(group),
});

/** Sets keys in one namespace of a group's configuration; idempotent. */
export const putGroupConfiguration = describedOperation<ConfigurationInput, undefined>("putGroupConfiguration", {
  fillings: { groupId: ({ groupId }) => groupId, namespace: ({ namespace }) => namespace },
  body: ({ entries }) => Object.entries(entries).map(([key, value]) => ({ key, value })),
  ...ignoresAnswer,
});

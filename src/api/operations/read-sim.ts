/** Reads one SIM's record, as the deployment describes it. */
import { z } from "zod";
import type { DeploymentOperation } from "#fleet/deployment-operation.ts";
import { described } from "./described.ts";
import type { Operation } from "./operation.ts";
import { simRecord, type SimRecord } from "./sims.ts";

export interface OneSim {
  /** SIM ID or IMSI, as the path of the operation has it. */
  readonly key: string;
}

export type ReadSim = Operation<OneSim, SimRecord>;

export function getSim(description: DeploymentOperation): ReadSim {
  const keyOf = ({ key }: OneSim): string => key;
  return {
    ...described<OneSim>("getSim", description, { simId: keyOf, imsi: keyOf }),
    replay: "safe",
    output: simRecord,
  };
}

/** One entry of a SIM's status history; fields that the interface does not show are kept. */
export type StatusEntry = Readonly<Record<string, unknown>>;

export type ReadStatusHistory = Operation<OneSim, readonly StatusEntry[]>;

/** The latest changes of a SIM's status, in the platform's order. */
export function getSimStatusHistory(description: DeploymentOperation): ReadStatusHistory {
  const keyOf = ({ key }: OneSim): string => key;
  return {
    ...described<OneSim>("getSimStatusHistory", description, { simId: keyOf, imsi: keyOf }),
    replay: "safe",
    output: z.array(z.looseObject({})),
  };
}

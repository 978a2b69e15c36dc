/** The parts of an account that jobs use. */
import type { PlatformClient } from "./client.ts";
import type { getSim, getSimStatusHistory } from "./operations/described.ts";
import type { FieldSelection } from "#fleet/sim/sim-fields.ts";
import type { Wording } from "#fleet/sim/sim.ts";

export interface Account {
  readonly client: PlatformClient;
  /** Signs in if there is no pair, and notes whose SIMs the profile lists. @throws as `PlatformClient.assertAddress` */
  readonly identify?: (signal: AbortSignal) => Promise<void>;
  readonly wording: Wording;
  /** The fields of a SIM record to keep. */
  readonly selection: FieldSelection;
  /** Reads one SIM, if the platform definition describes how. */
  readonly readSim?: ReturnType<typeof getSim> | undefined;
  /** Reads the status history of one SIM, if the platform definition describes how. */
  readonly readStatusHistory?: ReturnType<typeof getSimStatusHistory> | undefined;
  /** Maximum number of SIMs per page of a list; absent: the platform decides. */
  readonly pageLimit?: number | undefined;
}

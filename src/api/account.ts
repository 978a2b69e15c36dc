/** What a job needs from the account it works on. */
import type { PlatformClient } from "./client.ts";
import type { FieldSelection } from "#fleet/sim/sim-fields.ts";
import type { Wording } from "#fleet/sim/sim.ts";

export interface Account {
  readonly client: PlatformClient;
  readonly wording: Wording;
  /** The fields of a SIM record to keep. */
  readonly selection: FieldSelection;
  /** Maximum number of SIMs per page of a list; absent: the platform decides. */
  readonly pageLimit?: number | undefined;
}

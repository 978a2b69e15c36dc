/** What a job needs of the account that it works for. */
import type { PlatformClient } from "./client.ts";
import type { FieldChoice } from "#fleet/sim-fields.ts";
import type { Wording } from "#fleet/sim.ts";

export interface Account {
  readonly client: PlatformClient;
  readonly wording: Wording;
  /** What is kept of a SIM's record. */
  readonly choice: FieldChoice;
  /** Most SIMs that a page of a listing is asked for; absent: the platform decides. */
  readonly pageLimit?: number | undefined;
}

/** What the work on a segment uses; shared by all segments of a process. */
import type { Account } from "#api/account.ts";
import type { Clock } from "#core/time.ts";
import type { PoisonGuard } from "#engine/poison-guard.ts";
import type { SimOperation } from "#fleet/sim-operation/sim-operation.ts";
import type { Inventory } from "#jobs/inventory/store/inventory.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { Backlog } from "./outcome-writer.ts";
import type { RunWatch } from "./run-watch.ts";

/** Dependencies of a segment's work. */
export interface JobContext {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly inventory: Inventory;
  readonly accountFor: (profile: string) => Account;
  /** Shared by all segments of this process. */
  readonly backlog: Backlog;
  readonly watch: RunWatch;
  /** Finds a row that kills its worker. */
  readonly guard: Pick<PoisonGuard, "runAlone">;
  /** Opens the sealed ones among the inputs of a row. */
  readonly openInputs: (operation: SimOperation, inputs: readonly string[]) => Promise<readonly string[]>;
  /** Rows in progress at once in one segment. */
  readonly lanes: number;
}

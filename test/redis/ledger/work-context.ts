/** What one process needs to work on the segments of runs. */
import type { Clock } from "#core/time.ts";
import type { StoreDeps } from "#engine/move-record.ts";
import { Inventory } from "#jobs/inventory/store/inventory.ts";
import { Ledger } from "#jobs/runs/ledger/ledger.ts";
import type { execute } from "#jobs/runs/work/execute.ts";
import { RunWatch } from "#jobs/runs/work/run-watch.ts";
import { noGuard } from "../../support/no-guard.ts";
import { openInputs } from "./run-of.ts";

type WorkContext = Parameters<typeof execute>[1];

export function workContext(
  collaborators: StoreDeps & { readonly clock: Clock },
  own: Pick<WorkContext, "account"> & Partial<WorkContext>,
): WorkContext {
  const { ledger = new Ledger(collaborators) } = own;
  return {
    ledger,
    inventory: new Inventory(collaborators),
    clock: collaborators.clock,
    lanes: 3,
    watch: new RunWatch({ ledger }),
    openInputs,
    guard: noGuard,
    ...own,
  };
}

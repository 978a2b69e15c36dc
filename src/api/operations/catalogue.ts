/** Every operation that simfleet knows, for tables and tests; code that makes a call imports the operation directly. */
import { authOperation } from "./auth.ts";
import { createCredential } from "./credentials.ts";
import type { Operation } from "./operation.ts";
import { listSims, listSubscribers, simOperationCall } from "./sims.ts";
import { operationFor, setSpeedClass } from "#fleet/sim-operation/sim-operation.ts";

export const catalogue: readonly Operation<never, unknown>[] = [
  authOperation,
  listSims,
  listSubscribers,
  simOperationCall(setSpeedClass),
  simOperationCall(operationFor(setSpeedClass, "subscribers")),
  createCredential,
];

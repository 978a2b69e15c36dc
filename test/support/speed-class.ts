/** Calls, rows and changes of the built-in operation, for tests. */
import { simOperationCall } from "#api/operations/sims.ts";
import { setSpeedClass } from "#fleet/sim-operation/sim-operation.ts";

export const updateSimSpeedClass = simOperationCall(setSpeedClass);

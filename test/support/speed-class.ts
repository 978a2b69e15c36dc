/** Calls, rows and changes of the built-in operation, for tests. */
import { simOperationCall } from "#api/operations/sim-operation.ts";
import { operationFor, setSpeedClass } from "#fleet/sim-operation/sim-operation.ts";

export const updateSimSpeedClass = simOperationCall(setSpeedClass);
export const updateSubscriberSpeedClass = simOperationCall(operationFor(setSpeedClass, "subscribers"));

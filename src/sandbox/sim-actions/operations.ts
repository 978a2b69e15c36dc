/** The operations on one SIM that the interface does not show, as served: all writes and reads, by their tables. */
import { deviceActions } from "./device-actions.ts";
import { recordActions } from "./record-actions.ts";
import { operationOf, type SimOperation } from "./sim-action.ts";
import { simReads } from "./sim-reads.ts";
import { statusActions } from "./status-actions.ts";

export const simActionOperations: readonly SimOperation[] = [
  ...[...statusActions, ...recordActions, ...deviceActions].map(operationOf),
  ...simReads,
];

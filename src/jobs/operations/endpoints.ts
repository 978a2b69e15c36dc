/** What answers the routes of operations. */
import { type Endpoint, endpoint } from "#contract/route.ts";
import type { SimOperation } from "#fleet/sim-operation/sim-operation.ts";
import { listOperations, showOperation } from "./contract.ts";
import { reportOfOperation } from "./report.ts";

export function operationEndpoints(deps: {
  /** Names of the deployment's operations. */
  readonly names: () => readonly string[];
  /** @throws SimfleetError OPERATION_NOT_FOUND */
  readonly operation: (name: string, profile: string) => SimOperation;
  /** @throws SimfleetError NOT_FOUND */
  readonly profileOf: (named?: string) => string;
}): readonly Endpoint[] {
  const { names, operation, profileOf } = deps;
  return [
    endpoint(listOperations, ({ query }) => {
      const profile = profileOf(query.profile);
      return { operations: names().map((name) => reportOfOperation(operation(name, profile))), nextCursor: null };
    }),
    endpoint(showOperation, ({ params, query }) =>
      reportOfOperation(operation(params.operation, profileOf(query.profile))),
    ),
  ];
}

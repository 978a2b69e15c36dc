/** Endpoints of operations. */
import { reportOf } from "#contract/fields.ts";
import { type Endpoint, endpoint } from "#contract/route.ts";
import { listOperations, operationInput, operationReport, showOperation, type OperationReport } from "./contract.ts";
import { type InputField, ruleOf } from "#fleet/sim-operation/input.ts";
import type { SimOperation } from "#fleet/sim-operation/sim-operation.ts";
import { csvLine } from "#intake/cell.ts";
import type { RunService } from "#jobs/runs/service.ts";
import type { Kernel } from "#kernel/kernel.ts";

export function operationEndpoints({ profileOf }: Kernel, runs: RunService): readonly Endpoint[] {
  return [
    endpoint(listOperations, ({ query }) => {
      const profile = profileOf(query.profile);
      const names = [...runs.operations.keys()];
      return {
        operations: names.map((name) => reportOfOperation(runs.operation(name, profile))),
        nextCursor: null,
      };
    }),
    endpoint(showOperation, ({ params, query }) =>
      reportOfOperation(runs.operation(params.operation, profileOf(query.profile))),
    ),
  ];
}

// The JSON form of an operation, shared by `operations show --json` and the control API.

const exampleSims = {
  simId: ["8942310022000012345", "8942310022000012352"],
  imsi: ["440101234567890", "440101234567891"],
};

export function reportOfOperation(operation: SimOperation): OperationReport {
  const { inputs, sets, undo } = operation;
  return reportOf(operationReport, {
    ...operation,
    inputs: inputs.map((field) =>
      reportOf(operationInput, {
        ...field,
        required: field.isRequired,
        rule: ruleOf(field),
        secret: field.isSecret === true,
        fromInventory: field.inventoryField !== undefined,
      }),
    ),
    sets: Object.keys(sets),
    undo: undo === undefined ? [] : [undo, ...(undo.otherwise ? [undo.otherwise] : [])].map((step) => step.operation),
    example: makeExample(operation),
  });
}

function makeExample({ keyColumn, inputs }: SimOperation): string[] {
  const columns = inputs.filter(({ inventoryField }) => inventoryField === undefined);
  const rows = exampleSims[keyColumn].map((key, i) => [key, ...columns.map((field) => valueFor(field, i))]);
  return [[keyColumn, ...columns.map((field) => field.name)], ...rows].map((cells) => csvLine(cells).trimEnd());
}

/** A valid value where the description shows one; otherwise a word to replace. */
function valueFor({ name, type, values }: InputField, row: number): string {
  if (values !== undefined) return values[row % values.length] ?? "";
  switch (type) {
    case "integer":
      return String(row + 1);
    case "boolean":
      return "true";
    case "time":
      return "2027-01-31T09:00:00Z";
    case "list":
      return "first;second";
    case "text":
      return exampleTexts[name] ?? name;
  }
}

const exampleTexts: Readonly<Record<string, string>> = {
  speedClass: "s1.fast",
  groupId: "11111111-2222-3333-4444-555555555555",
  tagName: "site",
  tagValue: "berlin",
  imei: "356938035643809",
  payload: "hello",
};

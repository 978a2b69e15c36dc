/** The keys `operation`, `set` and `speedClass` of schedules, automations and the drop folder. */
import { z } from "zod";
import { suggestion } from "#core/suggest.ts";
import { readInput, ruleOf } from "#fleet/sim-operation/input.ts";
import {
  operationFor,
  operationNamed,
  setSpeedClassName,
  type SimOperation,
  type SimOperations,
} from "#fleet/sim-operation/sim-operation.ts";
import type { Wording } from "#fleet/sim/sim.ts";
import { orFault } from "./report.ts";
import { setting } from "./setting.ts";
import { expecting, text } from "./value-types.ts";

const operationName = text("the name of an operation (`simfleet operations list`)");

/** Values by input; numbers and booleans may be written without quotes. */
export const inputValues = expecting(
  "a mapping of inputs to values, such as `{ groupId: g-1 }`",
  z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
);

export const operationKeys = {
  operation: setting(operationName.optional(), "What to do to each SIM (docs/operations-on-sims.md).", {
    fallback: "`set-speed-class`",
  }),
  set: setting(
    inputValues.optional(),
    "Values by input of the operation. What it needs besides has to be a column of the file.",
  ),
  speedClass: setting(text().optional(), "Short for `set: { speedClass: … }`."),
};

interface WrittenOperation {
  readonly operation?: string | undefined;
  readonly set?: Readonly<Record<string, string | number | boolean>> | undefined;
  readonly speedClass?: string | undefined;
}

/** What a run does to each SIM. */
export interface OperationChoice {
  readonly operation: string;
  readonly set: Readonly<Record<string, string>>;
}

/**
 * Checks the operation and the values for all rows.
 * @param inputs `all`: the rows bring no values, so that every required one has to be in `set`
 * @param fault called with the key at fault, and what is wrong
 */
export function operationOf(
  written: WrittenOperation,
  { operations, wording, inputs }: { operations: SimOperations; wording: Wording; inputs: "all" | "some" },
  fault: (key: string, message: string) => void,
): OperationChoice | undefined {
  const { operation: name = setSpeedClassName, speedClass } = written;
  const operation = orFault(
    () => operationFor(operationNamed(operations, name), wording),
    (message) => fault("operation", `${message}.`),
  );
  if (operation === undefined) return undefined;
  const given = Object.entries(written.set ?? {}).map(([field, value]) => [field, String(value)] as const);
  const set: Record<string, string> = {
    ...(speedClass === undefined ? {} : { speedClass }),
    ...Object.fromEntries(given),
  };
  checkValues(operation, set, (field, message) => fault(keyOf(field, written), message));
  if (inputs === "all") {
    for (const field of operation.inputs) {
      if (!field.isRequired || field.inventoryField !== undefined || set[field.name] !== undefined) continue;
      fault(field.name === "speedClass" ? "speedClass" : `set.${field.name}`, `is missing; ${name} needs it.`);
    }
  }
  return { operation: name, set };
}

function keyOf(field: string, { speedClass, set }: WrittenOperation): string {
  return field === "speedClass" && speedClass !== undefined && set?.["speedClass"] === undefined
    ? field
    : `set.${field}`;
}

function checkValues(
  { name, inputs }: SimOperation,
  set: Readonly<Record<string, string>>,
  fault: (field: string, message: string) => void,
): void {
  for (const [field, value] of Object.entries(set)) {
    const input = inputs.find((one) => one.name === field);
    if (input === undefined) {
      const names = inputs.map((one) => one.name);
      fault(field, `is not an input of ${name}.${suggestion(field, names)} Inputs: ${names.join(", ") || "none"}.`);
    } else if (input.isSecret) fault(field, "is secret: it can only be a column of a file.");
    else if ("problem" in readInput(input, value.trim())) fault(field, `must be ${ruleOf(input)}.`);
  }
}

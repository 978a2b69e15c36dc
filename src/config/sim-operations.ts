/**
 * The section `simOperations` of a platform definition: each operation's description, checked as a whole, so that a
 * fault shows at the start and not with the first row.
 */
import { z } from "zod";
import { suggestion } from "#core/suggest.ts";
import { parseFilter } from "#fleet/filter.ts";
import { orFault } from "./report.ts";
import { expecting, integer, oneOf, text, yesOrNo } from "./value-types.ts";
import {
  type SimOperation,
  type SimOperations,
  type UndoStep,
  setSpeedClass,
} from "#fleet/sim-operation/sim-operation.ts";
import { dangers } from "#fleet/sim-operation/danger.ts";
import { type InputField, inputTypes } from "#fleet/sim-operation/input.ts";
import { type Json, placeholdersIn, undoPlaceholder } from "#fleet/sim-operation/template.ts";

const operationName = text("a name of lowercase letters, digits and -", /^[a-z][a-z0-9-]{0,63}$/);
const inputName = text("a name of letters, digits and _", /^[A-Za-z][A-Za-z0-9_]{0,63}$/);
export const groupName = text("the name of a group: letters, digits, - and _", /^[A-Za-z0-9_-]{1,40}$/);
export const statuses = expecting(
  "a list such as [200] of statuses from 200 to 299 that mean success",
  z.array(z.number().int().min(200).max(299)).min(1),
);
const json: z.ZodType<Json> = z.json();

const pattern = expecting(
  "a regular expression",
  z.string().refine((written) => {
    try {
      return new RegExp(written, "u").source !== "";
    } catch {
      return false;
    }
  }),
);

const filter = z.string().superRefine((written, context) => {
  orFault(
    () => parseFilter(written),
    (message) => context.addIssue(message),
  );
});

const inputKeys = z.strictObject({
  type: oneOf(inputTypes).default("text"),
  required: yesOrNo.default(false),
  description: z.string().min(1).optional(),
  pattern: pattern.optional(),
  values: z.array(z.string()).min(1).optional(),
  maxLength: integer(1, 1_000).optional(),
  secret: yesOrNo.default(false),
});

const undoSet = z.record(inputName, z.string()).default({});
const undoStep = z.union([
  operationName.transform((operation): UndoStep => ({ operation, set: {} })),
  z.strictObject({ operation: operationName, set: undoSet }),
]);
const undoKey = z.union([
  z.literal("none").transform(() => undefined),
  z.strictObject({ operation: operationName, set: undoSet, otherwise: undoStep.optional() }),
]);

const simOperation = z
  .strictObject({
    summary: z.string().min(1),
    method: oneOf(["POST", "PUT", "DELETE"]),
    path: text(
      "a path that starts with /v1/ and has between its slashes letters, digits, - and _ or one placeholder in braces",
      /^\/v1(\/([A-Za-z0-9_-]+|\{[A-Za-z][A-Za-z0-9_]*\}))+$/,
    ),
    group: groupName,
    input: z.record(inputName, inputKeys).default({}),
    body: json.optional(),
    statuses,
    answer: oneOf(["record", "none", "accepted"]).default("none"),
    alreadyDone: z
      .strictObject({
        statuses: z.array(z.number().int().min(400).max(499)).default([]),
        codes: z.array(z.string()).default([]),
      })
      .prefault({}),
    sets: z.record(z.string().min(1), z.union([z.string(), z.number(), z.boolean(), z.null()])).default({}),
    requires: filter.optional(),
    repeat: oneOf(["safe", "unsafe"]).default("unsafe"),
    undo: undoKey.prefault("none"),
    danger: oneOf(dangers).default("normal"),
    costlyWhen: filter.optional(),
  })
  .transform(({ input, ...rest }) => {
    const inPath = placeholdersIn(rest.path);
    const inputs = Object.entries(input).map(
      ([name, { required: isRequired, secret: isSecret, ...others }]): InputField => ({
        name,
        isRequired,
        isSecret,
        ...others,
        ...(inPath.has(name) ? { isInPath: true } : {}),
      }),
    );
    return { ...rest, inputs, keyColumn: inPath.has("imsi") ? ("imsi" as const) : ("simId" as const) };
  });

/** The operations of a platform definition by name, the built-in one among them. */
export const simOperations = z.record(operationName, simOperation).transform((written): SimOperations => {
  const described = Object.entries(written).map(([name, rest]): SimOperation => ({ name, ...rest }));
  return new Map([setSpeedClass, ...described].map((operation) => [operation.name, operation]));
});

type Fault = readonly [key: string, message: string];

/** The faults of one of the operations: its keys, and what it says of the others. */
export function* faultsOfOperation(name: string, operations: SimOperations): Generator<Fault> {
  const operation = operations.get(name);
  if (operation === undefined) return;
  const { sets, inputs, danger, costlyWhen, undo } = operation;
  if (name === setSpeedClass.name) {
    yield ["", "is built in and cannot be described."];
    return;
  }
  yield* placeholderFaults(operation);
  for (const field of inputs) yield* inputFaults(field, placeholdersIn(operation.path));
  if (costlyWhen !== undefined && danger !== "costly") yield ["costlyWhen", "needs danger: costly."];
  if (undo === undefined) return;
  if (Object.keys(sets).length === 0) yield ["undo", "needs sets, which say what a run has changed."];
  yield* stepFaults("undo", undo, { operation, operations });
  if (undo.otherwise !== undefined) yield* stepFaults("undo.otherwise", undo.otherwise, { operation, operations });
}

function* placeholderFaults({ path, body = null, sets, inputs }: SimOperation): Generator<Fault> {
  const inPath = placeholdersIn(path);
  const known = [...inputs.map(({ name }) => name), "simId", "imsi"];
  const unknown = function* (key: string, template: Json): Generator<Fault> {
    for (const one of placeholdersIn(template)) {
      if (known.includes(one)) continue;
      const names = known.map((other) => `{${other}}`).join(", ");
      yield [key, `has {${one}}, which is not an input.${suggestion(one, known)} Known: ${names}.`];
    }
  };
  if (!inPath.has("simId") && !inPath.has("imsi")) {
    yield ["path", "must have {simId} or {imsi}: an operation changes one SIM."];
  }
  yield* unknown("path", path);
  yield* unknown("body", body);
  for (const [field, template] of Object.entries(sets)) {
    const key = `sets.${field}`;
    yield* unknown(key, [field, template]);
    for (const { name, isRequired, isSecret } of inputs) {
      if (!placeholdersIn([field, template]).has(name)) continue;
      if (!isRequired) yield [key, `has {${name}}, which is optional: without it the value is unknown.`];
      if (isSecret) yield [key, `has {${name}}, which is secret: the inventory shows its fields.`];
    }
  }
}

function* inputFaults(
  { name, type, isRequired, isSecret, values, pattern: expression }: InputField,
  inPath: ReadonlySet<string>,
): Generator<Fault> {
  const at = `input.${name}`;
  if (name === "simId" || name === "imsi") yield [at, "is the SIM itself: it needs no input."];
  if (inPath.has(name) && !isRequired) yield [`${at}.required`, "must be true: the path needs it."];
  if (inPath.has(name) && isSecret) yield [`${at}.secret`, "must not be true for a part of the path."];
  if (values !== undefined && type !== "text" && type !== "list") {
    yield [`${at}.values`, `does not apply to an input of type ${type}.`];
  }
  if (expression !== undefined && (type === "boolean" || type === "time")) {
    yield [`${at}.pattern`, `does not apply to an input of type ${type}.`];
  }
}

function* stepFaults(
  key: string,
  step: UndoStep,
  { operation, operations }: { operation: SimOperation; operations: SimOperations },
): Generator<Fault> {
  const undo = operations.get(step.operation);
  if (undo === undefined) {
    yield [
      `${key}.operation`,
      `There is no operation ${step.operation}.${suggestion(step.operation, [...operations.keys()])}`,
    ];
    return;
  }
  if (undo.inputs.some(({ isSecret }) => isSecret)) yield [`${key}.operation`, "must not have secret inputs."];
  if (undo.group !== operation.group)
    yield [`${key}.operation`, `must spend the quota of the same group, ${operation.group}.`];
  const names = undo.inputs.map((field) => field.name);
  for (const given of Object.keys(step.set)) {
    if (!names.includes(given))
      yield [`${key}.set.${given}`, `is not an input of ${undo.name}.${suggestion(given, names)}`];
  }
  for (const field of undo.inputs) {
    if (field.isRequired && step.set[field.name] === undefined)
      yield [`${key}.set.${field.name}`, `is missing; ${undo.name} needs it.`];
  }
  const fields = Object.keys(operation.sets);
  for (const [given, template] of Object.entries(step.set)) {
    for (const [, field, name] of template.matchAll(undoPlaceholder)) {
      if (name !== undefined && !operation.inputs.some((input) => input.name === name))
        yield [`${key}.set.${given}`, `has {${name}}, which is not an input of ${operation.name}.`];
      if (field !== undefined && !fields.includes(field))
        yield [`${key}.set`, `names {before.${field}}, which is not among sets: ${fields.join(", ")}.`];
    }
  }
}

/**
 * A SIM operation: one kind of change to one SIM, as data. `set-speed-class` is built in; a platform definition
 * describes others. A run stores the description that it was submitted with: its rows are processed as planned.
 */
import { SimfleetError } from "#core/errors.ts";
import { suggestion } from "#core/suggest.ts";
import { conditionsIn, parseFilter } from "../filter.ts";
import { keptFields, valueOfText } from "../sim/sim-fields.ts";
import type { FieldValue } from "../sim/field-text.ts";
import { type KeyColumn, type Wording, keyColumnOf } from "../sim/sim.ts";
import type { Danger } from "./danger.ts";
import { type InputField, readInput } from "./input.ts";
import { type Json, type ValueOf, fillText, nameAlone, placeholdersIn } from "./template.ts";

/** An operation that restores a previous state, and the templates of its inputs. */
export interface UndoStep {
  readonly operation: string;
  /** By input: a template of `{before.<field>}` and the inputs of the row. */
  readonly set: Readonly<Record<string, string>>;
}

export interface Undo extends UndoStep {
  /** Used where a previous value that `set` needs was absent. */
  readonly otherwise?: UndoStep | undefined;
}

export interface SimOperation {
  readonly name: string;
  readonly summary: string;
  readonly method: "POST" | "PUT" | "DELETE";
  /** Starts with `/v1/`; placeholders are whole segments: the SIM's key, and inputs. */
  readonly path: string;
  /** The API group whose quota a call uses (interface, section 8). */
  readonly group: string;
  /** The column and field that identify a SIM. */
  readonly keyColumn: KeyColumn;
  readonly inputs: readonly InputField[];
  /** A template of any JSON shape; a placeholder alone keeps the type of its input. */
  readonly body?: Json | undefined;
  /** The statuses of success. */
  readonly statuses: readonly number[];
  /** Content of a successful response: the SIM's record, nothing, or an acceptance of later work. */
  readonly answer: "record" | "none" | "accepted";
  /** Responses that mean that the SIM is already as requested; a row with one is skipped. */
  readonly alreadyDone: { readonly statuses: readonly number[]; readonly codes: readonly string[] };
  /** Fields of the record after success, by name or template of a name; null: absent. */
  readonly sets: Readonly<Record<string, string | number | boolean | null>>;
  /** A filter that a SIM has to match. */
  readonly requires?: string | undefined;
  /** How often a call may be sent: again after its response was lost, or never again. */
  readonly repeat: "safe" | "unsafe";
  readonly undo?: Undo | undefined;
  readonly danger: Danger;
  /** With `danger: costly`: only SIMs that match this filter cost money. */
  readonly costlyWhen?: string | undefined;
}

/** Operations by name. */
export type SimOperations = ReadonlyMap<string, SimOperation>;

/** @throws SimfleetError OPERATION_NOT_FOUND */
export function operationNamed(operations: SimOperations, name: string): SimOperation {
  const found = operations.get(name);
  if (found !== undefined) return found;
  const names = [...operations.keys()];
  throw new SimfleetError(
    "OPERATION_NOT_FOUND",
    `The platform definition has no operation ${name}.${suggestion(name, names)} List them with: simfleet operations list`,
  );
}

/** Whether all calls of these operations may be sent again. */
export function isRepeatable(operations: readonly Pick<SimOperation, "repeat">[]): boolean {
  return operations.every(({ repeat }) => repeat === "safe");
}

/** A field of a SIM's record and its value as text; null: the record has no such field. */
export type FieldChange = readonly [field: string, value: string | null];

export const setSpeedClassName = "set-speed-class";

/** Values for all rows by input, from `set` and the short form of its `speedClass` as users write them. */
export function valuesForAll(written: {
  readonly speedClass?: string | undefined;
  readonly set?: Readonly<Record<string, string | number | boolean>> | undefined;
}): Readonly<Record<string, string>> {
  const { speedClass, set } = written;
  const given = Object.entries(speedClass === undefined ? { ...set } : { speedClass, ...set });
  return Object.fromEntries(given.map(([name, value]) => [name, String(value)]));
}

/** The operation that the interface shows (section 4). */
export const setSpeedClass: SimOperation = {
  name: setSpeedClassName,
  summary: "Set the speed class of the SIM",
  method: "POST",
  path: "/v1/sims/{simId}/update_speed_class",
  group: "Sim",
  keyColumn: "simId",
  inputs: [
    {
      name: "speedClass",
      type: "text",
      isRequired: true,
      description: "letters, digits, dot, - and _ only, at most 64 of them",
      pattern: "[A-Za-z0-9][A-Za-z0-9._-]{0,63}",
    },
  ],
  body: { speedClass: "{speedClass}" },
  statuses: [200],
  answer: "record",
  alreadyDone: { statuses: [], codes: [] },
  sets: { speedClass: "{speedClass}" },
  repeat: "safe",
  undo: { operation: setSpeedClassName, set: { speedClass: "{before.speedClass}" } },
  danger: "normal",
};

const keyFields: Readonly<Record<KeyColumn, Pick<InputField, "description" | "pattern">>> = {
  simId: { description: "a SIM ID", pattern: "[A-Za-z0-9][A-Za-z0-9_-]{0,63}" },
  imsi: { description: "an IMSI of 5 to 15 digits", pattern: "[0-9]{5,15}" },
};

/**
 * The operation as a profile uses it. Files of a profile identify SIMs by the column of its wording; where the path
 * needs the other id, that id becomes an input, which the inventory supplies if the file does not.
 */
export function operationFor(operation: SimOperation, wording: Wording): SimOperation {
  const keyColumn = keyColumnOf(wording);
  if (operation.name === setSpeedClassName && wording === "subscribers") {
    return { ...operation, keyColumn, path: "/v1/subscribers/{imsi}/update_speed_class" };
  }
  const other: KeyColumn = keyColumn === "simId" ? "imsi" : "simId";
  const isNeeded = placeholdersIn([operation.path, operation.body ?? null]).has(other);
  if (!isNeeded || operation.inputs.some(({ name }) => name === other)) return { ...operation, keyColumn };
  const input: InputField = {
    name: other,
    type: "text",
    isRequired: true,
    inventoryField: other,
    ...keyFields[other],
  };
  return { ...operation, keyColumn, inputs: [...operation.inputs, input] };
}

/** Values of a row for templates: its key, its inputs, and the fields that a call is known by. */
export function valuesOf(operation: SimOperation, key: string, inputs: readonly string[]): ValueOf {
  return (name) => {
    if (name === operation.keyColumn) return key;
    return inputs[operation.inputs.findIndex((input) => input.name === name)] || undefined;
  };
}

/** Canonical values in the order of the inputs, from values that were checked; empty where none is given. */
export function inputsOf({ inputs }: SimOperation, set: Readonly<Record<string, string>>): readonly string[] {
  return inputs.map((field) => readInput(field, set[field.name] ?? "") ?? "");
}

/** The inputs of a row by name, for display; secret ones are left out, as are those without a value. */
export function shownInputs({ inputs }: SimOperation, values: readonly string[]): Record<string, string> {
  const shown = inputs.flatMap(({ name, isSecret }, i) => (isSecret || !values[i] ? [] : [[name, values[i]] as const]));
  return Object.fromEntries(shown);
}

/** A field of `sets`, prepared once for all rows. */
interface PreparedField {
  readonly name: string;
  readonly hasPlaceholder: boolean;
  /** The place of the input that is the whole value; -1 if the value is something else. */
  readonly at: number;
  /** Null: the field is removed. */
  readonly template: string | null;
  readonly isText: boolean;
}

const prepared = new WeakMap<SimOperation, readonly PreparedField[]>();

function fieldsSetBy(operation: SimOperation): readonly PreparedField[] {
  let fields = prepared.get(operation);
  if (fields === undefined) {
    const { sets, inputs } = operation;
    fields = Object.entries(sets).map(([name, value]): PreparedField => {
      const alone = typeof value === "string" ? nameAlone(value) : undefined;
      const at = alone === undefined ? -1 : inputs.findIndex((input) => input.name === alone);
      const isText = typeof value === "string" && (at < 0 || inputs[at]?.type === "text");
      const template = value === null ? null : String(value);
      return { name, hasPlaceholder: placeholdersIn(name).size > 0, at, template, isText };
    });
    prepared.set(operation, fields);
  }
  return fields;
}

/** Change that a success makes in the record of a SIM. */
export function changesOf(operation: SimOperation, key: string, inputs: readonly string[]): readonly FieldChange[] {
  return fieldsSetBy(operation).map(({ name, hasPlaceholder, at, template }): FieldChange => {
    const field = hasPlaceholder ? (fillText(name, valuesOf(operation, key, inputs)) ?? name) : name;
    if (template === null) return [field, null];
    if (at >= 0) return [field, inputs[at] || null];
    return [field, fillText(template, valuesOf(operation, key, inputs)) ?? null];
  });
}

/** Fields that a success sets in the record of a SIM, as the inventory stores them; null: it removes the field. */
export type SimChange = ReadonlyMap<string, FieldValue | null>;

export function simChangeOf(operation: SimOperation, changes: readonly FieldChange[]): SimChange {
  const prepares = fieldsSetBy(operation);
  // As the platform shows it: text as it is, anything else as JSON.
  const storedAs = (value: string, i: number): FieldValue =>
    prepares[i]?.isText === true ? valueOfText(value) : { json: value };
  return new Map(changes.map(([field, value], i) => [field, value === null ? null : storedAs(value, i)]));
}

/**
 * Identifies what a row changes: rows with the same subject and different inputs contradict each other. An operation on
 * members of a field, such as single tags, has a subject for each member.
 */
export function subjectOf(operation: SimOperation, key: string, inputs: readonly string[]): string {
  const fields = fieldsSetBy(operation).filter(({ hasPlaceholder }) => hasPlaceholder);
  if (fields.length === 0) return key;
  const valueOf = valuesOf(operation, key, inputs);
  const names = fields.map(({ name }) => encodeURIComponent((fillText(name, valueOf) ?? name).toWellFormed()));
  return `${key} ${names.join(" ")}`;
}

/** Fields of a SIM to store besides its key: those that are named, and those that operations need. */
export function fieldsToKeep(named: readonly string[], wording: Wording, operations: SimOperations): string[] {
  return keptFields(named, { keyColumn: keyColumnOf(wording), ofOperations: fieldsOfOperations(operations) });
}

/** Fields of the inventory that the operations need: those that they set, and those that their filters name. */
function fieldsOfOperations(operations: SimOperations): readonly string[] {
  const fields = new Set<string>();
  for (const { sets, requires, costlyWhen } of operations.values()) {
    for (const field of Object.keys(sets)) fields.add(withoutPlaceholders(field));
    for (const filter of [requires, costlyWhen]) {
      if (filter === undefined) continue;
      for (const { field } of conditionsIn(parseFilter(filter).expression)) fields.add(field);
    }
  }
  return [...fields];
}

/** `tags` for `tags.{tagName}`. */
function withoutPlaceholders(field: string): string {
  return field
    .split(".")
    .filter((step) => !step.includes("{"))
    .join(".");
}

/** Columns of a results file that hold the previous values: `previousGroupId`, in the order of `sets`. */
export function previousColumns({ sets }: Pick<SimOperation, "sets">): readonly string[] {
  return Object.keys(sets).map((field) => {
    const words = withoutPlaceholders(field).split(".");
    return `previous${words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("")}`;
  });
}

/**
 * The operations of the Sim group. Lists come in both variants of the interface (section 4): `sims` with `simId`, and
 * the older `subscribers` with `imsi`. Operations on one SIM are described by the platform definition. Fields that the
 * interface does not show pass through.
 */
import { z } from "zod";
import { isPathSegment, readInput, typedValue } from "#fleet/sim-operation/input.ts";
import { type SimOperation, valuesOf } from "#fleet/sim-operation/sim-operation.ts";
import { fillJson, type Json, placeholdersIn } from "#fleet/sim-operation/template.ts";
import { isImsi, isSimId } from "#fleet/sim/sim.ts";
import type { AnswerSchema, Operation, PathParameter } from "./operation.ts";

export interface ListInput {
  /** Start of the page: the key that the previous page returned; absent for the first page. */
  readonly lastEvaluatedKey?: string | undefined;
  /** Maximum number of records per response; the platform's default and maximum are unknown. */
  readonly limit?: number | undefined;
}

const shown = {
  simId: z.string().nullish(),
  imsi: z.string().nullish(),
  speedClass: z.string().nullish(),
};

/** Validates in place, without a copy: records are many, few of their fields are read. @param schema tells the fault */
function inPlace<T>(isRight: (value: unknown) => boolean, schema: z.ZodType<T>): AnswerSchema<T> {
  return { safeParse: (value) => (isRight(value) ? { success: true, data: value as T } : schema.safeParse(value)) };
}

const recordSchema = z.looseObject(shown);

/** The known fields of a SIM record; all other fields are kept under their own names. */
export type SimRecord = Readonly<z.output<typeof recordSchema>>;

/** A SIM's record as the response to a change. */
export const simRecord = inPlace<SimRecord>(isSimRecord, recordSchema);

/** The query of a paginated list. */
export function pageQuery(input: ListInput): Record<string, string | undefined> {
  return { limit: input.limit?.toString(), last_evaluated_key: input.lastEvaluatedKey };
}

const listing = {
  method: "GET",
  quota: { group: "Sim" },
  authenticated: true,
  replay: "safe",
  successStatuses: [200],
  query: pageQuery,
} as const;

/** @param key the field that identifies a SIM */
function recordsWith(key: "simId" | "imsi"): z.ZodType<SimRecord[]> {
  const schema = z.looseObject({ ...shown, [key]: z.string() });
  return z.custom<SimRecord[]>().superRefine((value: unknown, context) => {
    if (!Array.isArray(value)) return context.addIssue("is not a list");
    // The first wrong one says enough: there may be a million.
    const place = value.findIndex((record) => !isSimRecord(record) || typeof record[key] !== "string");
    for (const { path, message } of (place < 0 ? undefined : schema.safeParse(value[place]).error?.issues) ?? []) {
      context.addIssue({ code: "custom", message, path: [place, ...path] });
    }
  });
}

/** Whether a value has the shape of a SIM's record; it is not copied. */
function isSimRecord(record: unknown): record is SimRecord {
  if (typeof record !== "object" || record === null || Array.isArray(record)) return false;
  // If this were an own field, a careless copy would turn it into a prototype.
  if (Object.hasOwn(record, "__proto__")) Reflect.deleteProperty(record, "__proto__");
  const { simId, imsi, speedClass } = record as SimRecord;
  return isTextOrNone(simId) && isTextOrNone(imsi) && isTextOrNone(speedClass);
}

function isTextOrNone(value: unknown): boolean {
  return value === undefined || value === null || typeof value === "string";
}

export const listSims: Operation<ListInput, SimRecord[]> = {
  ...listing,
  id: "listSims",
  path: "/v1/sims",
  output: recordsWith("simId"),
};

export const listSubscribers: Operation<ListInput, SimRecord[]> = {
  ...listing,
  id: "listSubscribers",
  path: "/v1/subscribers",
  output: recordsWith("imsi"),
};

// Turns the description of an operation on one SIM into a call: a path that its values cannot leave, a JSON body whose
// inputs keep their types, and the parsing of the response.

/** One row of a run. */
export interface SimCall {
  /** The SIM ID or IMSI. */
  readonly key: string;
  /** Canonical texts in the order of the operation's inputs; empty for an input without a value. */
  readonly inputs: readonly string[];
}

/** The call of an operation; it returns the SIM's record if the operation's answer is one. */
export function simOperationCall(operation: SimOperation): Operation<SimCall, SimRecord | undefined> {
  const { body } = operation;
  const parameters = [...placeholdersIn(operation.path)].map((name) => toParameter(operation, name));
  const call = {
    id: operation.name,
    method: operation.method,
    path: operation.path,
    parameters,
    quota: { group: operation.group },
    authenticated: true,
    replay: operation.repeat,
    successStatuses: operation.statuses,
    ...(body === undefined ? {} : { body: compileBody(operation, body) }),
  } as const;
  return operation.answer === "record"
    ? { ...call, output: recordAfter(operation) }
    : { ...call, answer: "status", output: z.undefined() };
}

/** A record that shows none of the fields that the operation gives a value is something else. */
function recordAfter(operation: SimOperation): AnswerSchema<SimRecord> {
  const given = fieldsGiven(operation);
  const schema = recordSchema.refine((record) => showsAny(record, given), { path: [given[0] ?? ""] });
  return inPlace((record) => isSimRecord(record) && showsAny(record, given), schema);
}

/** The fields of the record that hold what the operation gives a value. */
function fieldsGiven({ sets }: SimOperation): readonly string[] {
  return Object.entries(sets).flatMap(([field, value]) => (value === null ? [] : [field.split(".", 1)[0] ?? ""]));
}

function showsAny(record: SimRecord, fields: readonly string[]): boolean {
  return fields.length === 0 || fields.some((field) => record[field] !== undefined && record[field] !== null);
}

/** Fills the body of each row; what is the same for all rows is found once. */
function compileBody(operation: SimOperation, template: Json): (row: SimCall) => unknown {
  const inputs = new Map(operation.inputs.map((input, at) => [input.name, { input, at }]));
  return ({ key, inputs: values }) => {
    const valueOf = valuesOf(operation, key, values);
    return fillJson(template, valueOf, (name) => {
      const found = inputs.get(name);
      if (found === undefined) return valueOf(name);
      const value = values[found.at];
      return value ? typedValue(found.input, value) : undefined;
    });
  };
}

function toParameter(operation: SimOperation, name: string): PathParameter<SimCall> {
  const at = operation.inputs.findIndex((input) => input.name === name);
  const of = name === operation.keyColumn ? ({ key }: SimCall) => key : ({ inputs }: SimCall) => inputs[at] ?? "";
  if (name === "simId") return { name, isAllowed: isSimId, of };
  if (name === "imsi") return { name, isAllowed: isImsi, of };
  const field = operation.inputs.find((input) => input.name === name);
  const isValid = (text: string): boolean => field !== undefined && readInput(field, text) !== undefined;
  return { name, isAllowed: (text) => isPathSegment(text) && isValid(text), of, isEncoded: true };
}

/**
 * Turns the description of a SIM operation into a call: a path that its values cannot leave, a JSON body whose inputs
 * keep their types, and the parsing of the response.
 */
import { z } from "zod";
import { isPathSegment, readInput, typedValue } from "#fleet/sim-operation/input.ts";
import { type SimOperation, valuesOf } from "#fleet/sim-operation/sim-operation.ts";
import { fillJson, type Json, placeholdersIn } from "#fleet/sim-operation/template.ts";
import { isImsi, isSimId } from "#fleet/sim/sim.ts";
import type { AnswerSchema, Operation, PathParameter } from "./operation.ts";
import { inPlace, isSimRecord, recordSchema, type SimRecord } from "./sims.ts";

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

/**
 * Turns the description of a SIM operation into a call: a path that its values cannot leave, a JSON body whose inputs keep
 * their types, and the parsing of the response.
 */
import { z } from "zod";
import { readInput, typedValue, type InputField } from "#fleet/sim-operation/input.ts";
import { type SimOperation, valuesOf } from "#fleet/sim-operation/sim-operation.ts";
import { fillJson, placeholdersIn } from "#fleet/sim-operation/template.ts";
import { isImsi, isSimId } from "#fleet/sim/sim.ts";
import type { Operation, PathParameter } from "./operation.ts";
import { simRecord, type SimRecord } from "./sims.ts";

/** One row of a run. */
export interface SimCall {
  /** The SIM ID or IMSI. */
  readonly key: string;
  /** Canonical texts in the order of the operation's inputs; empty for an input without a value. */
  readonly inputs: readonly string[];
}

/** The call of an operation; it returns the SIM's record if the operation's answer is one. */
export function simOperationCall(operation: SimOperation): Operation<SimCall, SimRecord | undefined> {
  const { body, inputs } = operation;
  const parameters = [...placeholdersIn(operation.path)].map((name) => parameterOf(operation, name));
  const call = {
    id: operation.name,
    method: operation.method,
    path: operation.path,
    parameters,
    quota: { group: operation.group },
    authenticated: true,
    replay: operation.repeat,
    successStatuses: operation.statuses,
    ...(body === undefined ? {} : { body: (row: SimCall) => bodyOf(operation, inputs, row) }),
  } as const;
  return operation.answer === "record"
    ? { ...call, output: recordAfter(operation) }
    : { ...call, answer: "status", output: z.undefined() };
}

/** A record that shows none of the fields that the operation gives a value is something else. */
function recordAfter({ sets }: SimOperation): z.ZodType<SimRecord> {
  const given = Object.entries(sets).flatMap(([field, value]) =>
    value === null ? [] : [field.split(".", 1)[0] ?? ""],
  );
  if (given.length === 0) return simRecord;
  return simRecord.refine((record) => given.some((field) => record[field] !== undefined && record[field] !== null), {
    path: [given[0] ?? ""],
  });
}

function bodyOf(operation: SimOperation, inputs: readonly InputField[], { key, inputs: values }: SimCall): unknown {
  const valueOf = valuesOf(operation, key, values);
  return fillJson(operation.body ?? null, valueOf, (name) => {
    const value = valueOf(name);
    if (value === undefined) return undefined;
    return typedValue(inputs.find((input) => input.name === name) ?? { type: "text" }, value);
  });
}

function parameterOf(operation: SimOperation, name: string): PathParameter<SimCall> {
  const of = ({ key, inputs }: SimCall): string => valuesOf(operation, key, inputs)(name) ?? "";
  if (name === "simId") return { name, isAllowed: isSimId, of };
  if (name === "imsi") return { name, isAllowed: isImsi, of };
  const field = operation.inputs.find((input) => input.name === name);
  const isValid = (text: string): boolean => field !== undefined && "value" in readInput(field, text);
  return { name, isAllowed: (text) => isSegment(text) && isValid(text), of, isEncoded: true };
}

/**
 * Whether a text may become a path segment, percent-encoded. A server may decode it before it splits the path, so nothing
 * that separates or climbs is accepted, in any encoding.
 */
function isSegment(text: string): boolean {
  return text !== "" && text.isWellFormed() && !/[/\\%\p{Cc}]/u.test(text) && !/^\.+$/.test(text);
}

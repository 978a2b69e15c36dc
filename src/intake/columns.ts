/**
 * Turns cells into a row: finds the columns of the SIM's key and of the operation's inputs, and validates a row's
 * cells. An unusable header rejects the file (IntakeError); an invalid row gets a problem and is passed on.
 */
import { IntakeError } from "#core/errors.ts";
import { suggestion } from "#core/suggest.ts";
import type { Row, RowProblem } from "#fleet/run.ts";
import { readInput, ruleOf, type InputField } from "#fleet/sim-operation/input.ts";
import type { SimOperation } from "#fleet/sim-operation/sim-operation.ts";
import { isImsi, isSimId, type KeyColumn } from "#fleet/sim/sim.ts";
import type { CsvRow } from "./csv.ts";

/** Purpose of reading the rows of a file. */
export interface RowRequest {
  readonly operation: SimOperation;
  /** Values for all rows by input, instead of columns. */
  readonly set: Readonly<Record<string, string>>;
  /** Whether results of a run are accepted, whose values may be old. */
  readonly fromResults?: boolean | undefined;
}

/** No input file has all of these, and every results file does. */
const resultColumns = ["outcome", "attempts", "finishedAt"] as const;

/** The source of an input's values: a column, or one value for all rows. */
type InputSource =
  | { readonly field: InputField; readonly at: number }
  | { readonly field: InputField; readonly value: string };

/** The columns of a file's key and of the inputs, in the order of the operation's. */
export type Columns = Readonly<ReturnType<typeof matchColumns>>;

/**
 * Matches the header, ignoring case, spaces, underscores and hyphens.
 * @throws IntakeError that lists the columns found and those required
 */
export function matchColumns(header: readonly string[], request: RowRequest) {
  const { operation, set } = request;
  const { keyColumn } = operation;
  const given = readSet(request);
  if (
    request.fromResults !== true &&
    resultColumns.every((column) => header.some((name) => normalized(name) === normalized(column)))
  ) {
    throw new IntakeError(
      `This is a results file: it has the columns ${resultColumns.join(", ")}, and its values may be old. To send unsuccessful rows again, use simfleet runs retry RUN. To use it as input all the same, add --from-results on the command line, fromResults=true in the API.`,
    );
  }
  const keyAt = findKey(header, keyColumn);
  if (keyAt === undefined) throw missingKey(header, operation);
  const inputs = operation.inputs.map((field): InputSource => {
    const at = find(header, field.name);
    const value = given.get(field.name);
    if (value === undefined) {
      if (at !== undefined) return { field, at };
      if (!field.isRequired || field.inventoryField !== undefined) return { field, value: "" };
      throw missingInput(header, field);
    }
    if (at === undefined) return { field, value };
    const values = field.isSecret ? "" : ` (${set[field.name] ?? ""})`;
    throw new IntakeError(
      `${field.name} is given twice: as an option${values} and as the column ${shown(header[at] ?? "")}. Drop the option to use the column, or drop the column.`,
      { column: field.name },
    );
  });
  return { header, keyColumn, keyAt, inputs };
}

/**
 * Validates the values that are given for all rows.
 * @returns the canonical values by input
 * @throws IntakeError for an input that the operation does not have, or an invalid value
 */
export function readSet({ operation, set }: RowRequest): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  for (const [name, text] of Object.entries(set)) {
    const field = operation.inputs.find((input) => input.name === name);
    if (field === undefined) {
      const names = operation.inputs.map((input) => input.name);
      const known = names.length === 0 ? "none" : names.join(", ");
      throw new IntakeError(`${operation.name} has no input ${name}.${suggestion(name, names)} Inputs: ${known}.`, {
        column: name,
      });
    }
    const value = readInput(field, text.trim());
    if (value === undefined) throw new IntakeError(cannotBe(field, text.trim()), { column: name });
    values.set(name, value);
  }
  return values;
}

/** Validates one row by its own cells; trailing blank cells count as cells. */
export function readRow(columns: Columns, index: number, { line, cells }: CsvRow): Row {
  if (cells.length !== columns.header.length) {
    return { index, line, cells, key: "", inputs: [], problem: cellCount(columns.header.length, cells.length) };
  }
  const key = withoutTextMark((cells[columns.keyAt] ?? "").trim());
  let problem = keyProblem(columns, key);
  const inputs = columns.inputs.map((source) => {
    if ("value" in source) return source.value;
    const text = withoutTextMark((cells[source.at] ?? "").trim());
    const value = text === "" && source.field.inventoryField !== undefined ? "" : readInput(source.field, text);
    if (value === undefined) problem ??= inputProblem(source.field, (columns.header[source.at] ?? "").trim(), text);
    return value ?? "";
  });
  return { index, line, cells, key, inputs, problem };
}

/** Spreadsheets mark a cell as text with a leading apostrophe, and some of them export it. */
function withoutTextMark(text: string): string {
  return text.startsWith("'") ? text.slice(1).trim() : text;
}

function cellCount(wanted: number, got: number): RowProblem {
  const hint = got > wanted ? "Put a cell that contains the delimiter in quotes." : "Include empty cells, too.";
  return {
    code: "cell-count",
    column: "",
    message: `The row has ${got} ${got === 1 ? "cell" : "cells"} where the header has ${wanted}. ${hint}`,
  };
}

function keyProblem({ header, keyAt, keyColumn }: Columns, key: string): RowProblem | undefined {
  if (keyColumn === "simId" ? isSimId(key) : isImsi(key)) return undefined;
  const column = (header[keyAt] ?? "").trim();
  if (key === "") return { code: "key-empty", column, message: `The cell ${column} is empty.` };
  const noun = keyColumn === "simId" ? "a SIM ID" : "an IMSI";
  if (/^[0-9]+([.,][0-9]+)?E\+?[0-9]+$/i.test(key)) {
    const message = `${shorten(key)} is a spreadsheet's rounding of ${noun}; the digits are lost. Format the column as text and export again`;
    return { code: "key-spreadsheet", column, message };
  }
  const rule = keyColumn === "simId" ? "letters, digits, - and _ only, at most 64 of them." : "5 to 15 digits.";
  return { code: "key-invalid", column, message: `${shown(key)} cannot be ${noun}: ${rule}` };
}

function inputProblem(field: InputField, column: string, text: string): RowProblem {
  if (text === "") return { code: "value-missing", column, message: `The cell ${column} is empty.` };
  return { code: "value-invalid", column, message: cannotBe(field, text) };
}

/** The message of an invalid value; a secret is never quoted. */
function cannotBe(field: InputField, text: string): string {
  const value = field.isSecret ? "The value" : shown(text);
  return `${value} is not valid for ${field.name}: ${ruleOf(field)}.`;
}

/** The places of columns whose cells are secret. */
export function secretColumns(
  header: readonly string[],
  { inputs }: Pick<SimOperation, "inputs">,
): ReadonlySet<number> {
  const names = new Set(inputs.filter(({ isSecret }) => isSecret).map(({ name }) => normalized(name)));
  return new Set(header.flatMap((name, at) => (names.has(normalized(name)) ? [at] : [])));
}

/** A SIM ID is an ICCID, and many files of other tools call it so. */
function findKey(header: readonly string[], keyColumn: KeyColumn): number | undefined {
  return find(header, keyColumn) ?? (keyColumn === "simId" ? find(header, "iccid") : undefined);
}

function find(header: readonly string[], column: string): number | undefined {
  const wanted = normalized(column);
  const places = header.flatMap((name, at) => (normalized(name) === wanted ? [at] : []));
  if (places.length > 1) {
    const names = places.map((at) => shown(header[at] ?? "")).join(" and ");
    throw new IntakeError(`The header has the column ${column} more than once: ${names}. Keep one of them.`, {
      column,
    });
  }
  return places[0];
}

function normalized(name: string): string {
  return name.replaceAll(/[\s_-]+/g, "").toLowerCase();
}

function missingKey(header: readonly string[], { keyColumn: column, inputs }: SimOperation): IntakeError {
  const other = column === "simId" ? "imsi" : "simId";
  if (findKey(header, other) !== undefined) {
    const [wording, otherWording] = column === "simId" ? ["sims", "subscribers"] : ["subscribers", "sims"];
    return new IntakeError(
      `The file names its SIMs by ${other}, but the configured wording is ${wording}, which needs a column ${column}. Set SIMFLEET_WORDING=${otherWording} to work with ${other}, or give the file a column ${column}.`,
      { column },
    );
  }
  const hint = header.some((name) => /^'?[0-9]{5,}$/.test(name.trim())) ? " The first line must name the columns." : "";
  const required = inputs.filter(({ isRequired, inventoryField }) => isRequired && inventoryField === undefined);
  const names = [column, ...required.map(({ name }) => name)];
  const needs = `Needed: ${names.length === 1 ? column : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`}.`;
  return missing(header, column, { hint, needs });
}

function missingInput(header: readonly string[], { name }: InputField): IntakeError {
  const [option, parameter] = name === "speedClass" ? ["--speed-class", name] : [`--set ${name}=VALUE`, `set.${name}`];
  const needs = `Add the column, or give one value for all rows: ${option} on the command line, ${parameter} in the API.`;
  return missing(header, name, { hint: "", needs });
}

/** The header is quoted for its owner only: the first line of a file may contain anything. */
function missing(header: readonly string[], column: string, { hint, needs }: { hint: string; needs: string }) {
  const lacks = `The header has no column ${column}.`;
  const names = header.slice(0, 20).map((name) => (name.trim() === "" ? '""' : shorten(name.trim())));
  const found = `Columns found: ${names.join(", ")}${header.length > 20 ? ", …" : ""}.`;
  const counted = `It has ${header.length} ${header.length === 1 ? "column" : "columns"}.`;
  const withoutQuotes = `${lacks} ${counted} ${needs}`;
  return new IntakeError(`${lacks} ${found}${hint} ${needs}`, { column, withoutContent: withoutQuotes });
}

/** The words after a cell's text in the messages that quote it; every code has an entry, so that none is forgotten. */
const afterContent: Readonly<Record<RowProblem["code"], string | undefined>> = {
  "key-spreadsheet": " is a spreadsheet's rounding",
  "key-invalid": " cannot be ",
  "value-invalid": " is not valid for ",
  "cell-count": undefined,
  "key-empty": undefined,
  "value-missing": undefined,
  conflict: undefined,
  rejected: undefined,
};

/** A row's problem without the content of its cells. */
export function withoutContent({ code, column, message }: RowProblem): string {
  const words = afterContent[code];
  if (words === undefined) return message;
  const at = message.lastIndexOf(words);
  return `The cell ${column}${at < 0 ? " has a value that would be rejected." : message.slice(at)}`;
}

/** A cell's text for a message: control characters escaped, long text truncated. */
function shown(text: string): string {
  return JSON.stringify(shorten(text));
}

function shorten(text: string): string {
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}

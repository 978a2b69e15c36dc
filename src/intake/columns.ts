/**
 * Turns cells into a row: finds the columns of the SIM key and the speed class, and validates a row's cells. An
 * unusable header rejects the file (IntakeError); an invalid row gets a problem and is passed on.
 */
import { IntakeError } from "#core/errors.ts";
import type { Row, RowProblem } from "#fleet/run.ts";
import { isImsi, isSimId, type KeyColumn, keyColumnOf, type Wording } from "#fleet/sim/sim.ts";
import { isSpeedClass } from "#fleet/sim/speed-class.ts";
import type { CsvRow } from "./csv.ts";

/** The columns of a file's key and speed class. */
export interface Columns {
  readonly header: readonly string[];
  readonly keyColumn: KeyColumn;
  readonly keyAt: number;
  /** Absent if one class was given for all rows. */
  readonly classAt: number | undefined;
  readonly classForAll: string | undefined;
}

/**
 * Matches the header, ignoring case, spaces, underscores and hyphens.
 * @param wanted `speedClass` is the class for all rows, for a file that contains only ids
 * @throws IntakeError that lists the columns found and those required
 */
export function matchColumns(
  header: readonly string[],
  wanted: { readonly wording: Wording; readonly speedClass?: string | undefined },
): Columns {
  const { wording, speedClass: classForAll } = wanted;
  if (classForAll !== undefined && !isSpeedClass(classForAll)) {
    throw new IntakeError(`${shown(classForAll)} cannot be a speed class: ${classRule}`);
  }
  const keyColumn = keyColumnOf(wording);
  const keyAt = find(header, keyColumn);
  const classAt = find(header, "speedClass");
  if (keyAt === undefined) throw missingKey(header, wording);
  if (classForAll === undefined && classAt === undefined) {
    const lacks = "The header has no column speedClass.";
    const needs = "Add the column, or give one class for all rows with --speed-class.";
    throw new IntakeError(`${lacks} ${found(header)} ${needs}`, {
      column: "speedClass",
      withoutContent: `${lacks} ${counted(header)} ${needs}`,
    });
  }
  if (classForAll !== undefined && classAt !== undefined) {
    throw new IntakeError(
      `The speed class is given twice: as an option (${classForAll}) and as the column ${shown(header[classAt] ?? "")}. Drop the option to use the column, or drop the column.`,
      { column: "speedClass" },
    );
  }
  return { header, keyColumn, keyAt, classAt, classForAll };
}

/** Validates one row by its own cells; trailing blank cells count as cells. */
export function readRow(columns: Columns, index: number, { line, cells }: CsvRow): Row {
  if (cells.length !== columns.header.length) {
    return {
      index,
      line,
      cells,
      key: "",
      speedClass: "",
      problem: cellCount(columns.header.length, cells.length),
    };
  }
  const key = withoutTextMark((cells[columns.keyAt] ?? "").trim());
  const speedClass = columns.classForAll ?? withoutTextMark((cells[columns.classAt ?? -1] ?? "").trim());
  const problem = keyProblem(columns, key) ?? classProblem(columns, speedClass);
  if (problem) return { index, line, cells, key, speedClass, problem };
  return { index, line, cells, key, speedClass };
}

/** Spreadsheets mark a cell as text with a leading apostrophe, and some of them export it. */
function withoutTextMark(text: string): string {
  return text.startsWith("'") ? text.slice(1).trim() : text;
}

const classRule = "letters, digits, dot, - and _ only, at most 64 of them.";

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
  const noun = keyColumn === "simId" ? "SIM ID" : "IMSI";
  if (key === "") return { code: "key-empty", column, message: `The cell ${column} is empty.` };
  if (/^[0-9]+([.,][0-9]+)?E\+?[0-9]+$/i.test(key)) {
    return {
      code: "key-spreadsheet",
      column,
      message: `${shorten(key)} is a spreadsheet's rounding of ${noun === "IMSI" ? "an" : "a"} ${noun}; the digits are lost. Format the column as text and export again`,
    };
  }
  const rule = keyColumn === "simId" ? "letters, digits, - and _ only, at most 64 of them." : "5 to 15 digits.";
  return {
    code: "key-invalid",
    column,
    message: `${shown(key)} cannot be ${noun === "IMSI" ? "an" : "a"} ${noun}: ${rule}`,
  };
}

function classProblem({ header, classAt }: Columns, speedClass: string): RowProblem | undefined {
  if (isSpeedClass(speedClass)) return undefined;
  const column = (header[classAt ?? -1] ?? "").trim();
  if (speedClass === "") return { code: "class-empty", column, message: `The cell ${column} is empty.` };
  return {
    code: "class-invalid",
    column,
    message: `${shown(speedClass)} cannot be a speed class: ${classRule}`,
  };
}

function find(header: readonly string[], column: KeyColumn | "speedClass"): number | undefined {
  const wanted = column.toLowerCase();
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

function missingKey(header: readonly string[], wording: Wording): IntakeError {
  const column = keyColumnOf(wording);
  const other = wording === "sims" ? "imsi" : "simId";
  if (find(header, other) !== undefined) {
    const otherWording = wording === "sims" ? "subscribers" : "sims";
    return new IntakeError(
      `The file names its SIMs by ${other}, but the configured wording is ${wording}, which needs a column ${column}. Set SIMFLEET_WORDING=${otherWording} to work with ${other}, or give the file a column ${column}.`,
      { column },
    );
  }
  const hint = header.some((name) => /^'?[0-9]{5,}$/.test(name.trim())) ? " The first line must name the columns." : "";
  const lacks = `The header has no column ${column}.`;
  const needs = `Needed: ${column} and speedClass.`;
  return new IntakeError(`${lacks} ${found(header)}${hint} ${needs}`, {
    column,
    withoutContent: `${lacks} ${counted(header)} ${needs}`,
  });
}

/** Describes the header without quoting it: the first line of a file may contain anything. */
function counted(header: readonly string[]): string {
  return `It has ${header.length} ${header.length === 1 ? "column" : "columns"}.`;
}

/** A row's problem without the content of its cells. */
export function withoutContent({ code, column, message }: RowProblem): string {
  switch (code) {
    case "key-spreadsheet":
      return `The cell ${column} is a spreadsheet's rounding; the digits are lost. Format the column as text and export again`;
    case "key-invalid":
      return `The cell ${column} cannot be the ID of a SIM: a SIM ID has letters, digits, - and _ only, an IMSI 5 to 15 digits.`;
    case "class-invalid":
      return `The cell ${column} cannot be a speed class: ${classRule}`;
    case "cell-count":
    case "key-empty":
    case "class-empty":
    case "conflict":
      return message;
  }
}

function found(header: readonly string[]): string {
  const names = header.slice(0, 20).map((name) => (name.trim() === "" ? '""' : shorten(name.trim())));
  return `Columns found: ${names.join(", ")}${header.length > 20 ? ", …" : ""}.`;
}

/** A cell's text for a message: control characters escaped, long text truncated. */
function shown(text: string): string {
  return JSON.stringify(shorten(text));
}

function shorten(text: string): string {
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}

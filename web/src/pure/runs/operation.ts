/** SIM operations as a form shows them: which inputs need a value, what is wrong with one, and what to know first. */
import type { OperationReport, PlanReport } from "../shapes.ts";
import { counted } from "../format.ts";

export const setSpeedClass = "set-speed-class";

/** Values for all rows, by input, as they were typed. */
export type InputTexts = Readonly<Record<string, string>>;

export type SourceKind = "file" | "filter";

/** `selection`: a file that was made from selected SIMs, which has their keys alone. */
export type RowsFrom = SourceKind | "selection";

type Input = OperationReport["inputs"][number];

/**
 * The inputs that get a field of the form. With a file, a secret comes from a column alone: values for all rows are
 * sent in the address, which a secret must not be.
 */
export function fieldsFor({ inputs }: OperationReport, from: RowsFrom): readonly Input[] {
  return inputs.filter(({ secret }) => from !== "file" || !secret);
}

/** Values of the operation's fields for the request, without empty ones. */
export function setOf(operation: OperationReport, from: RowsFrom, texts: InputTexts): Record<string, string> {
  const given = fieldsFor(operation, from)
    .map(({ name, type }) => [name, canonical(type, (texts[name] ?? "").trim())] as const)
    .filter(([, text]) => text !== "");
  return Object.fromEntries(given);
}

/** The values that may be in an address, and the secret ones, which become columns of a file of selected SIMs. */
export function splitSecrets(
  { inputs }: OperationReport,
  set: Readonly<Record<string, string>>,
): { readonly values: Record<string, string>; readonly secrets: Record<string, string> } {
  const isSecret = new Set(inputs.filter(({ secret }) => secret).map(({ name }) => name));
  const entries = Object.entries(set);
  return {
    values: Object.fromEntries(entries.filter(([name]) => !isSecret.has(name))),
    secrets: Object.fromEntries(entries.filter(([name]) => isSecret.has(name))),
  };
}

/** Validation errors by input. The server knows the rest of the rules. */
export function inputFaults(operation: OperationReport, from: RowsFrom, texts: InputTexts): Record<string, string> {
  const set = setOf(operation, from, texts);
  const found = fieldsFor(operation, from)
    .map(({ name, type, maxLength }) => [name, faultOf({ type, maxLength }, set[name])] as const)
    .filter((pair): pair is readonly [string, string] => pair[1] !== undefined);
  return Object.fromEntries(found);
}

function faultOf({ type, maxLength }: Pick<Input, "type" | "maxLength">, text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  if (type === "integer" && !/^-?\d+$/.test(text)) return "Enter a whole number, such as 10.";
  if (maxLength !== undefined && text.length > maxLength)
    return `Enter at most ${maxLength} characters; there are ${text.length}.`;
  return undefined;
}

/** The time of a datetime field has no zone: it is local. */
function canonical(type: Input["type"], text: string): string {
  if (type !== "time" || text === "") return text;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? text : new Date(ms).toISOString();
}

/** Required inputs without a value, which the inventory does not supply. */
export function missingInputs(operation: OperationReport, texts: InputTexts): string[] {
  return operation.inputs
    .filter(({ name, required, fromInventory }) => required && !fromInventory && (texts[name] ?? "").trim() === "")
    .map(({ name }) => name);
}

/** The columns that a file needs besides the values that are given for all of its rows. */
export function columnsFor(operation: OperationReport, texts: InputTexts): string[] {
  return [operation.keyColumn, ...missingInputs(operation, texts)];
}

/** Warnings before a run with this operation starts, the most serious first. */
export function cautionsOf({ danger, costlyWhen, undo, repeat }: OperationReport): string[] {
  return [
    danger === "irreversible" ? "Irreversible: to confirm, type the number of SIMs." : "",
    danger === "costly"
      ? costlyWhen === null
        ? "Every call costs money."
        : `Calls cost money for SIMs with ${costlyWhen}.`
      : "",
    undo.length === 0 ? "This operation has no undo." : "",
    repeat === "unsafe" ? "A call whose response is lost is not sent again; its outcome may stay unknown." : "",
  ].filter((text) => text !== "");
}

/** Warnings before a plan starts. */
export function cautionsOfPlan(plan: Pick<PlanReport, "costly" | "irreversible" | "hasUndo">): string[] {
  const { costly, irreversible, hasUndo } = plan;
  return [
    irreversible > 0 ? `The change of ${counted(irreversible, "SIM")} is irreversible.` : "",
    costly > 0 ? `${counted(costly, "call costs", "calls cost")} money.` : "",
    hasUndo ? "" : "This run cannot be undone.",
  ].filter((text) => text !== "");
}

/** Whether the typed number is the count; separators do not matter. */
export function isSameCount(typed: string, count: number): boolean {
  return typed.replaceAll(/[\s,]/g, "") === String(count);
}

/**
 * Whether a run with this operation can be undone. An undo that has two ways to restore a SIM cannot be undone itself.
 * @param undone the operation of the run that this run undoes, if it is an undo
 */
export function canUndo(
  operation: Pick<OperationReport, "undo"> | undefined,
  undone?: Pick<OperationReport, "undo">,
): boolean {
  return operation !== undefined && operation.undo.length > 0 && (undone?.undo.length ?? 1) === 1;
}

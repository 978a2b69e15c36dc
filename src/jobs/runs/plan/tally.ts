/**
 * Counts the rows of a plan as they come: by verdict, calls that cost money, and what to warn of. The end of a file may
 * turn counted rows into conflicts, so what a stored row does not tell is remembered in a byte.
 */
import { type FieldChange, changesOf, setSpeedClassName } from "#fleet/sim-operation/sim-operation.ts";
import { placeholdersIn } from "#fleet/sim-operation/template.ts";
import { type Changed, type RowVerdict, verdicts } from "../contract.ts";
import { type FieldValues, type StoredRow, operationOf } from "../ledger/packing.ts";
import type { RunHead } from "../ledger/run-record.ts";
import { type ClassifiedRow, verdictOfRow } from "./classify.ts";

const costlyBit = 1;
const skippedBit = 2;
/** Speed classes that a plan looks at; a file with more has another column under this name. */
const maxUnlisted = 20;

/** Rows that have something in common. */
export interface SomeRows {
  rows: number;
  /** The first of them. */
  indexes: number[];
}

const rowsNamed = 5;

export class PlanTally {
  readonly #hasClasses: boolean;
  readonly #verdicts = Object.fromEntries(verdicts.map((verdict) => [verdict, 0])) as Record<RowVerdict, number>;
  readonly #unknown: SomeRows = { rows: 0, indexes: [] };
  readonly #classes = new Map<string, SomeRows>();
  readonly #left = new Map<string, number>();
  #bits = new Uint8Array(1_024);
  #costly = 0;
  #unchangedSkipped = 0;

  constructor(operation: string) {
    this.#hasClasses = operation === setSpeedClassName;
  }

  /** Adds the next row. @param isSkipped it changes nothing and makes no call */
  add({ row, isCostly }: ClassifiedRow, isSkipped: boolean): void {
    if (row.index === this.#bits.length) {
      const grown = new Uint8Array(row.index * 2);
      grown.set(this.#bits);
      this.#bits = grown;
    }
    this.#bits[row.index] = (isCostly ? costlyBit : 0) | (isSkipped ? skippedBit : 0);
    this.#count(row, 1);
    const { skipped: reason } = row;
    if (reason !== undefined && (this.#left.has(reason) || this.#left.size < maxGroups))
      this.#left.set(reason, (this.#left.get(reason) ?? 0) + 1);
  }

  isSkipped(index: number): boolean {
    return ((this.#bits[index] ?? 0) & skippedBit) !== 0;
  }

  /** A row turns out to be in conflict with another one. */
  markConflict(row: StoredRow): void {
    this.#count(row, -1);
    this.#verdicts.conflict += 1;
  }

  counts() {
    return {
      verdicts: this.#verdicts,
      costly: this.#costly,
      unchangedSkipped: this.#unchangedSkipped,
      unknown: this.#unknown,
      classes: [...this.#classes].filter(([, { rows }]) => rows > 0),
      /** Why rows of an undo are left as they are, the most frequent reason first. */
      left: [...this.#left].toSorted(([, a], [, b]) => b - a),
    };
  }

  #count(row: StoredRow, by: 1 | -1): void {
    const { index, problem, inputs } = row;
    const [speedClass = ""] = inputs;
    const verdict = verdictOfRow(row);
    this.#verdicts[verdict] += by;
    const isUnchanged = verdict === "unchanged";
    const isSkipped = isUnchanged && this.isSkipped(index);
    if (isSkipped) this.#unchangedSkipped += by;
    const isCalled = verdict === "change" || verdict === "not-in-inventory" || (isUnchanged && !isSkipped);
    if (isCalled && ((this.#bits[index] ?? 0) & costlyBit) !== 0) this.#costly += by;
    if (verdict === "not-in-inventory") addTo(this.#unknown, index, by);
    if (!this.#hasClasses || problem !== undefined) return;
    const isNew = !this.#classes.has(speedClass) && this.#classes.size < maxUnlisted;
    if (isNew) this.#classes.set(speedClass, { rows: 0, indexes: [] });
    const some = this.#classes.get(speedClass);
    if (some !== undefined) addTo(some, index, by);
  }
}

function addTo(some: SomeRows, index: number, by: 1 | -1): void {
  some.rows += by;
  if (by === -1) some.indexes = some.indexes.filter((other) => other !== index);
  else if (some.indexes.length < rowsNamed) some.indexes.push(index);
}

// What the calls change: rows with the same values before and after, counted together.

/** Groups that are counted. Of values that differ from SIM to SIM, the first ones are enough. */
const maxGroups = 1_000;
const groupsShown = 10;
const maxValueLength = 100;

export class ChangeTally {
  readonly #operations: RunHead["operations"];
  /** Whether rows with the same inputs make the same change, and others another one. */
  readonly #isByInput: boolean;
  readonly #groups = new Map<string, { readonly row: StoredRow; count: number }>();

  constructor(operations: RunHead["operations"]) {
    this.#operations = operations;
    this.#isByInput = operations.every(({ sets, inputs, keyColumn }) => {
      const used = placeholdersIn([Object.keys(sets), sets]);
      return !used.has(keyColumn) && inputs.every(({ name }) => used.has(name));
    });
  }

  /** Counts a row that makes a call; or no longer, if it turns out to make none. */
  add(row: StoredRow, by: 1 | -1): void {
    const after = this.#isByInput ? row.inputs.join("\0") : JSON.stringify(this.#changesOf(row));
    const group = `${row.operation ?? 0} ${after}\0${row.before === undefined ? "" : `=${row.before.join("\0")}`}`;
    const known = this.#groups.get(group);
    if (known !== undefined) known.count += by;
    else if (by === 1 && this.#groups.size < maxGroups) this.#groups.set(group, { row, count: 1 });
  }

  #changesOf(row: StoredRow): readonly FieldChange[] {
    return changesOf(operationOf({ operations: this.#operations }, row), row.key, row.inputs);
  }

  mostFrequent(): Changed["changes"] {
    const found = new Map<string, { from?: string | null; to: string | null; count: number }>();
    for (const { row, count } of this.#groups.values()) {
      const { sets } = operationOf({ operations: this.#operations }, row);
      const changes = this.#changesOf(row);
      if (changes.length === 0 || count === 0) continue;
      const fields = changes.map(([field]) => field);
      const isNamed = fields.length > 1 || !Object.hasOwn(sets, fields[0] ?? "");
      const textOf = (values: NonNullable<FieldValues>): string | null => valuesText(fields, values, isNamed);
      const to = textOf(changes.map(([, after]) => after));
      const change = row.before === undefined ? { to } : { from: textOf(row.before), to };
      const key = JSON.stringify(change);
      found.set(key, { ...change, count: (found.get(key)?.count ?? 0) + count });
    }
    return [...found.values()].toSorted((a, b) => b.count - a.count).slice(0, groupsShown);
  }
}

function valuesText(fields: readonly string[], values: NonNullable<FieldValues>, isNamed: boolean): string | null {
  if (values.every((value) => (value ?? null) === null)) return null;
  const text = values.map((value, i) => (isNamed ? `${fields[i] ?? ""}=${value ?? ""}` : value)).join(", ");
  return text.length > maxValueLength ? `${text.slice(0, maxValueLength - 1)}…` : text;
}

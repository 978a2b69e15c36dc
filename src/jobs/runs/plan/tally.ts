/**
 * Counts the rows of a plan as they come: by verdict, calls that cost money, and what to warn of. The end of a file may
 * turn counted rows into conflicts, so each row is remembered in two bytes, and the counts are made at the end.
 */
import { type FieldChange, changesOf, setSpeedClassName } from "#fleet/sim-operation/sim-operation.ts";
import { placeholdersIn } from "#fleet/sim-operation/template.ts";
import { type Changed, type RowVerdict, verdicts } from "../contract.ts";
import { type FieldValues, type StoredRow, operationOf } from "../ledger/packing.ts";
import type { RunHead } from "../ledger/run-record.ts";
import type { ClassifiedRow } from "./classify.ts";

/** A row in 16 bits: its verdict, whether it costs money, whether it is skipped, and the place of its speed class from 1. */
const costlyBit = 8;
const skippedBit = 16;
const classShift = 5;
/** Speed classes that a plan looks at; a file with more has another column under this name. */
const maxUnlisted = 20;

/** Rows that have something in common. */
export interface SomeRows {
  rows: number;
  /** The first of them. */
  readonly indexes: number[];
}

const rowsNamed = 5;

export class PlanTally {
  #kinds = new Uint16Array(1_024);
  readonly #hasClasses: boolean;
  readonly #classes = new Map<string, number>();
  readonly #left = new Map<string, number>();
  #count = 0;

  constructor(operation: string) {
    this.#hasClasses = operation === setSpeedClassName;
  }

  get rows(): number {
    return this.#count;
  }

  /** Adds the next row. @param isSkipped it changes nothing and makes no call */
  add({ row, verdict, isCostly, problem }: ClassifiedRow, isSkipped: boolean): void {
    if (this.#count === this.#kinds.length) {
      const grown = new Uint16Array(this.#count * 2);
      grown.set(this.#kinds);
      this.#kinds = grown;
    }
    const speedClass = problem === undefined && this.#hasClasses ? this.#placeOf(row.inputs[0] ?? "") : 0;
    const costly = isCostly ? costlyBit : 0;
    const skipped = isSkipped ? skippedBit : 0;
    this.#kinds[this.#count] = verdicts.indexOf(verdict) | costly | skipped | (speedClass << classShift);
    this.#count += 1;
    const { skipped: reason } = row;
    if (reason !== undefined && (this.#left.has(reason) || this.#left.size < maxGroups))
      this.#left.set(reason, (this.#left.get(reason) ?? 0) + 1);
  }

  isSkipped(index: number): boolean {
    return ((this.#kinds[index] ?? 0) & skippedBit) !== 0;
  }

  /** A row turns out to be in conflict with another one. */
  markConflict(index: number): void {
    this.#kinds[index] = verdicts.indexOf("conflict");
  }

  counts() {
    const byVerdict = verdicts.map(() => 0);
    const byClass = new Map<number, SomeRows>();
    const unknown: SomeRows = { rows: 0, indexes: [] };
    let costly = 0;
    let unchangedSkipped = 0;
    for (let index = 0; index < this.#count; index += 1) {
      const kind = this.#kinds[index] ?? 0;
      const at = kind & 7;
      const verdict = verdicts[at];
      byVerdict[at] = (byVerdict[at] ?? 0) + 1;
      if (verdict === "not-in-inventory") addTo(unknown, index);
      const isSkipped = (kind & skippedBit) !== 0;
      if (isSkipped && verdict === "unchanged") unchangedSkipped += 1;
      const isCalled =
        verdict === "change" || verdict === "not-in-inventory" || (verdict === "unchanged" && !isSkipped);
      if (isCalled && (kind & costlyBit) !== 0) costly += 1;
      const place = kind >> classShift;
      if (place === 0) continue;
      const some = byClass.get(place) ?? { rows: 0, indexes: [] };
      byClass.set(place, some);
      addTo(some, index);
    }
    const count = Object.fromEntries(verdicts.map((verdict, i) => [verdict, byVerdict[i] ?? 0]));
    const classes = [...this.#classes].flatMap(([speedClass, place]) => {
      const some = byClass.get(place);
      return some === undefined ? [] : [[speedClass, some] as const];
    });
    // Why rows of an undo are left as they are, the most frequent reason first.
    const left = [...this.#left].toSorted(([, a], [, b]) => b - a);
    return { verdicts: count as Record<RowVerdict, number>, costly, unchangedSkipped, unknown, classes, left };
  }

  /** The place of a speed class; 0 if there are too many. */
  #placeOf(speedClass: string): number {
    const known = this.#classes.get(speedClass);
    if (known !== undefined) return known;
    if (this.#classes.size >= maxUnlisted) return 0;
    this.#classes.set(speedClass, this.#classes.size + 1);
    return this.#classes.size;
  }
}

function addTo(some: SomeRows, index: number): void {
  some.rows += 1;
  if (some.indexes.length < rowsNamed) some.indexes.push(index);
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

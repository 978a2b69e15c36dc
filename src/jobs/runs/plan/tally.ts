/** Counts a plan's rows as they come: by verdict, calls that cost money, what the calls change, and what to warn of. */
import type { RowProblem } from "#fleet/run.ts";
import { type FieldChange, changesOf, setSpeedClassName } from "#fleet/sim-operation/sim-operation.ts";
import { placeholdersIn } from "#fleet/sim-operation/template.ts";
import { type Changed, type PlanReport, type RowVerdict, verdicts } from "../contract.ts";
import { type FieldValues, type StoredRow, isCallable, operationOf } from "../ledger/packing.ts";
import type { RunHead } from "../ledger/run-record.ts";
import { verdictOfRow } from "./classify.ts";

/** Speed classes that a plan looks at; a file with more has another column under this name. */
const maxUnlisted = 20;

/** Rows that have something in common. */
export interface SomeRows {
  rows: number;
  /** The first of them. */
  indexes: number[];
}

const rowsNamed = 5;
/** Problems of single rows that a plan lists. */
const maxProblems = 1_000;

export class PlanTally {
  rows = 0;
  /** Rows that cannot be sent. */
  rejected = 0;
  /** Rows that are skipped without a call, those that share the call of one included. */
  skipped = 0;
  unchangedSkipped = 0;
  calls = 0;
  /** Calls among them that cost money. */
  costly = 0;
  /** Calls among them that cannot be undone. */
  irreversible = 0;
  readonly verdicts = Object.fromEntries(verdicts.map((verdict) => [verdict, 0])) as Record<RowVerdict, number>;
  readonly unknown: SomeRows = { rows: 0, indexes: [] };
  readonly changes: ReturnType<typeof changeTally>;
  readonly #operations: RunHead["operations"];
  readonly #problems = new Map<number, PlanReport["problems"][number]>();
  readonly #classes = new Map<string, SomeRows>();
  readonly #left = new Map<string, number>();

  constructor(operations: RunHead["operations"]) {
    this.#operations = operations;
    this.changes = changeTally(operations);
  }

  /** Counts a row; or no longer, if it turns out to be another one. */
  add(row: StoredRow, by: 1 | -1 = 1): void {
    const { index, problem, skipped } = row;
    if (by === -1) this.#problems.delete(index);
    const verdict = verdictOfRow(row);
    this.rows += by;
    this.verdicts[verdict] += by;
    if (verdict === "not-in-inventory") addTo(this.unknown, index, by);
    if (problem !== undefined) this.#addProblem(row, problem, by);
    else if (this.#operations[0].name === setSpeedClassName) this.#addClass(row, by);
    if (skipped !== undefined) {
      this.skipped += by * row.weight;
      if (verdict === "unchanged") this.unchangedSkipped += by;
      if (this.#left.has(skipped) || this.#left.size < maxGroups)
        this.#left.set(skipped, (this.#left.get(skipped) ?? 0) + by);
    }
    if (!isCallable(row)) return;
    this.calls += by;
    if (row.isCostly === true) this.costly += by;
    if (operationOf({ operations: this.#operations }, row).danger === "irreversible") this.irreversible += by;
    this.changes.add(row, by);
  }

  get classes(): readonly (readonly [string, SomeRows])[] {
    return [...this.#classes].filter(([, { rows }]) => rows > 0);
  }

  /** Why rows of an undo are left as they are, the most frequent reason first. */
  get left(): readonly (readonly [string, number])[] {
    return [...this.#left].toSorted(([, a], [, b]) => b - a);
  }

  /** The first problems, in row order. */
  get problems(): PlanReport["problems"] {
    const inOrder = [...this.#problems].toSorted(([a], [b]) => a - b);
    return inOrder.slice(0, maxProblems).map(([, problem]) => problem);
  }

  /** Only the end of a file shows conflicts, which may come before the other problems. */
  #addProblem({ index, line }: StoredRow, problem: RowProblem, by: 1 | -1): void {
    this.rejected += by;
    const maxKept = problem.code === "conflict" ? 2 * maxProblems : maxProblems;
    if (by === 1 && this.#problems.size < maxKept) this.#problems.set(index, { line, ...problem });
  }

  #addClass({ index, inputs: [speedClass = ""] }: StoredRow, by: 1 | -1): void {
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

function changeTally(operations: RunHead["operations"]) {
  const groups = new Map<string, { readonly row: StoredRow; count: number }>();
  /** Whether rows with the same inputs make the same change, and others another one. */
  const isByInput = operations.every(({ sets, inputs, keyColumn }) => {
    const used = placeholdersIn([Object.keys(sets), sets]);
    return !used.has(keyColumn) && inputs.every(({ name }) => used.has(name));
  });
  const changesIn = (row: StoredRow): readonly FieldChange[] =>
    changesOf(operationOf({ operations }, row), row.key, row.inputs);
  return {
    /** Counts a row that makes a call; or no longer, if it turns out to make none. */
    add(row: StoredRow, by: 1 | -1): void {
      const after = isByInput ? row.inputs.join("\0") : JSON.stringify(changesIn(row));
      const group = `${row.operation ?? 0} ${after}\0${row.before === undefined ? "" : `=${row.before.join("\0")}`}`;
      const known = groups.get(group);
      if (known !== undefined) known.count += by;
      else if (by === 1 && groups.size < maxGroups) groups.set(group, { row, count: 1 });
    },

    mostFrequent(): Changed["changes"] {
      const found = new Map<string, { from?: string | null; to: string | null; count: number }>();
      for (const { row, count } of groups.values()) {
        const { sets } = operationOf({ operations }, row);
        const changes = changesIn(row);
        if (changes.length === 0 || count === 0) continue;
        const fields = changes.map(([field]) => field);
        const names = fields.length > 1 || !Object.hasOwn(sets, fields[0] ?? "") ? fields : undefined;
        const toText = (values: NonNullable<FieldValues>): string | null => valuesText(values, names);
        const to = toText(changes.map(([, after]) => after));
        const change = row.before === undefined ? { to } : { from: toText(row.before), to };
        const key = JSON.stringify(change);
        found.set(key, { ...change, count: (found.get(key)?.count ?? 0) + count });
      }
      return [...found.values()].toSorted((a, b) => b.count - a.count).slice(0, groupsShown);
    },
  };
}

function valuesText(values: NonNullable<FieldValues>, names: readonly string[] | undefined): string | null {
  if (values.every((value) => (value ?? null) === null)) return null;
  const text = values.map((value, i) => (names ? `${names[i] ?? ""}=${value ?? ""}` : value)).join(", ");
  return text.length > maxValueLength ? `${text.slice(0, maxValueLength - 1).toWellFormed()}…` : text;
}

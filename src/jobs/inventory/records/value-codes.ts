/**
 * Short codes for field values, which make a signature exact (signature.ts). Each profile has a dictionary that only grows, so
 * a column means one field and a code one value permanently. Four fields have wide columns with room for 4,094 values in
 * all; the first twelve other fields that a sync finds get narrow columns, with 61 values each and a code for "another
 * value". A value gets its code when a sync has seen it. A SIM written before that, or by a run, has the code "not known":
 * its record is read instead, until a sync writes it again.
 */
import type { Redis } from "ioredis";
import type { Condition } from "#fleet/filter.ts";
import type { Keys } from "#redis/keys.ts";
import { Script } from "#redis/script.ts";

/** Fields with wide columns; they come first in a signature, in this order. */
export const codedFields = ["speedClass", "status", "groupId", "subscription"] as const;
/** Number of narrow columns, which follow the wide ones. */
export const narrowColumns = 12;

export const unknownCode = 0;
export const absentCode = 1;
/** Code in narrow columns for any value that has no code and never gets one. */
export const otherCode = 2;
const valuesInNarrow = 61;

/** The column that a field's values are written to. */
export interface Column {
  readonly field: string;
  /** Position among the columns of a signature. */
  readonly index: number;
}

/** The dictionary, as used for writing. */
export interface CodeBook {
  /** Number of narrow columns that are assigned to a field. */
  readonly columnsGiven: number;
  columnOf(field: string): Column | undefined;
  /** The code of a value; `unknownCode` if it has none yet. */
  codeOf(column: Column, value: string): number;
  /** Reports a value of a field that has no column. */
  note(field: string, value: string): void;
}

/** The dictionary, as used for reading. */
export interface CodeLookup {
  /** The field's position among the columns; -1 if it has none. */
  columnOf(field: string): number;
  /** The code of a field's value; `unknownCode` if it has none. */
  codeOf(field: string, value: string): number;
}

const registerScript = Script.load(new URL("./register-values.lua", import.meta.url));
const registerColumnsScript = Script.load(new URL("./register-columns.lua", import.meta.url));

/** Key of a value in the dictionary of the wide columns. */
function itemOf(field: string, value: string): string {
  return `${field}=${value}`;
}

/** Keys of a field and of a column's value in the dictionary of the narrow columns. */
const columnItem = (field: string): string => `@${field}`;
const valueItem = (place: number, value: string): string => `${place}=${value}`;

export function isWide(index: number): boolean {
  return index < codedFields.length;
}

class KnownColumn implements Column {
  readonly codes = new Map<string, number>();
  /** Whether no further value can get a code. */
  isFull = false;
  readonly field: string;
  readonly index: number;

  constructor(field: string, index: number) {
    this.field = field;
    this.index = index;
  }
}

/** The dictionary used by one sync: missing values are collected and added between pages. */
export class ValueCodes implements CodeBook {
  readonly #redis: Redis;
  readonly #keys: { readonly wide: string; readonly narrow: string };
  readonly #columns = new Map<string, KnownColumn>(
    codedFields.map((field, index) => [field, new KnownColumn(field, index)]),
  );
  /** Requested values without a code, by field. */
  readonly #missing = new Map<string, Set<string>>();

  private constructor(redis: Redis, keys: { wide: string; narrow: string }) {
    this.#redis = redis;
    this.#keys = keys;
  }

  static async load(redis: Redis, keys: Keys, profile: string): Promise<ValueCodes> {
    const codes = new ValueCodes(redis, { wide: keys.simsCodes(profile), narrow: keys.simsColumns(profile) });
    for (const [item, code] of Object.entries(await redis.hgetall(codes.#keys.wide))) {
      const at = item.indexOf("=");
      codes.#columns.get(item.slice(0, at))?.codes.set(item.slice(at + 1), Number(code));
    }
    await codes.#readNarrow();
    return codes;
  }

  /** All fields with a column. */
  fields(): IndexedField[] {
    return [...this.#columns.values()].map(({ field, index, codes, isFull }) => ({
      field,
      index,
      values: codes,
      isFull,
    }));
  }

  get columnsGiven(): number {
    return this.#columns.size - codedFields.length;
  }

  columnOf(field: string): Column | undefined {
    return this.#columns.get(field);
  }

  codeOf(column: KnownColumn, value: string): number {
    const code = column.codes.get(value);
    if (code !== undefined) return code;
    if (column.isFull) return isWide(column.index) ? unknownCode : otherCode;
    this.#miss(column.field, value);
    return unknownCode;
  }

  note(field: string, value: string): void {
    if (this.columnsGiven < narrowColumns) this.#miss(field, value);
  }

  #miss(field: string, value: string): void {
    const values = this.#missing.get(field);
    if (values === undefined) this.#missing.set(field, new Set([value]));
    else values.add(value);
  }

  /** Adds the missing values, as far as there is room. */
  async register(): Promise<void> {
    if (this.#missing.size === 0) return;
    const narrow: string[] = [];
    for (const [field, values] of this.#missing) {
      const column = this.#columns.get(field);
      if (column !== undefined && isWide(column.index)) await this.#registerWide(column, [...values]);
      // Values beyond the limit make no difference.
      else for (const value of [...values].slice(0, valuesInNarrow + 1)) narrow.push(field, value);
    }
    this.#missing.clear();
    if (narrow.length === 0) return;
    await registerColumnsScript.run(this.#redis, [this.#keys.narrow], [narrowColumns, valuesInNarrow, ...narrow]);
    await this.#readNarrow();
  }

  async #registerWide(column: KnownColumn, values: readonly string[]): Promise<void> {
    const items = values.map((value) => itemOf(column.field, value));
    const codes = (await registerScript.run(this.#redis, [this.#keys.wide], items)) as number[];
    for (const [at, value] of values.entries()) {
      if (codes[at] === unknownCode) column.isFull = true;
      else column.codes.set(value, codes[at] ?? unknownCode);
    }
  }

  /** Read the whole dictionary, since another sync may have added columns. */
  async #readNarrow(): Promise<void> {
    const entries = Object.entries(await this.#redis.hgetall(this.#keys.narrow));
    const byPlace = new Map<number, KnownColumn>();
    for (const [item, place] of entries) {
      if (!item.startsWith("@")) continue;
      const field = item.slice(1);
      const column = this.#columns.get(field) ?? new KnownColumn(field, codedFields.length + Number(place));
      this.#columns.set(field, column);
      byPlace.set(Number(place), column);
    }
    for (const [item, code] of entries) {
      const at = item.indexOf("=");
      if (!item.startsWith("@")) byPlace.get(Number(item.slice(0, at)))?.codes.set(item.slice(at + 1), Number(code));
    }
    for (const column of byPlace.values()) column.isFull = column.codes.size >= valuesInNarrow;
  }
}

/** The location of a profile's dictionary. */
interface Place {
  readonly redis: Redis;
  readonly keys: Keys;
  readonly profile: string;
}

/** A field with a column, for reading: its place among the columns and the values that have codes. */
export interface IndexedField extends Column {
  readonly values: ReadonlyMap<string, number>;
  /** Whether further values of the field have no codes. */
  readonly isFull: boolean;
}

/** Every field with a column. */
export async function indexedFields({ redis, keys, profile }: Place): Promise<IndexedField[]> {
  const codes = await ValueCodes.load(redis, keys, profile);
  return codes.fields();
}

/** The columns of the fields in the conditions. Read them before the signatures: a column may be assigned at any time. */
export async function columnsFor(conditions: readonly Condition[], place: Place): Promise<ReadonlyMap<string, number>> {
  const columns = new Map<string, number>();
  const fields = [...new Set(conditions.map(({ field }) => field))];
  const others = fields.filter((field) => !codedFields.some((coded) => coded === field));
  for (const [index, field] of codedFields.entries()) if (fields.includes(field)) columns.set(field, index);
  if (others.length === 0) return columns;
  const key = place.keys.simsColumns(place.profile);
  const places = await place.redis.hmget(key, ...others.map(columnItem));
  for (const [at, field] of others.entries()) {
    const given = places[at];
    if (typeof given === "string") columns.set(field, codedFields.length + Number(given));
  }
  return columns;
}

/** The codes of the values in the conditions. Read them after the signatures: a value without a code is then in none of them. */
export async function codesFor(
  conditions: readonly Condition[],
  columns: ReadonlyMap<string, number>,
  place: Place,
): Promise<CodeLookup> {
  const wanted = conditions.flatMap((condition): { field: string; column: number; value: string }[] => {
    const { field } = condition;
    const column = columns.get(field);
    if (column === undefined) return [];
    const values = condition.kind === "in" ? condition.values : "value" in condition ? [condition.value] : [];
    return values.map((value) => ({ field, column, value }));
  });
  const known = new Map<string, number>();
  const poll = async (isOfKind: (column: number) => boolean, key: string): Promise<void> => {
    const some = wanted.filter(({ column }) => isOfKind(column));
    if (some.length === 0) return;
    const items = some.map(({ field, column, value }) =>
      isWide(column) ? itemOf(field, value) : valueItem(column - codedFields.length, value),
    );
    const codes = await place.redis.hmget(key, ...items);
    for (const [at, { field, value }] of some.entries()) {
      known.set(JSON.stringify([field, value]), Number(codes[at] ?? unknownCode));
    }
  };
  await Promise.all([
    poll(isWide, place.keys.simsCodes(place.profile)),
    poll((column) => !isWide(column), place.keys.simsColumns(place.profile)),
  ]);
  return {
    columnOf: (field) => columns.get(field) ?? -1,
    codeOf: (field, value) => known.get(JSON.stringify([field, value])) ?? unknownCode,
  };
}

/**
 * The index of the inventory: 52 bytes per SIM. 32 of them are a Bloom filter of the SIM's fields and values. It errs in one
 * direction only: what it denies does not exist; what it affirms must be verified, since a few percent are false positives.
 * The other 20 are columns of codes, which are exact: two characters for each of four fields, one for each of twelve more
 * (value-codes.ts). The signatures of 4,096 SIMs are concatenated in one string, so a filter is tested against a million
 * SIMs in a few hundred milliseconds, and only SIMs that may match are read.
 *
 * Each printable character carries six bits, so scripts can receive, store and concatenate signatures as plain text.
 */
import type { Condition, Filter } from "#fleet/filter.ts";
import { type SimFields, textOf } from "#fleet/sim/sim-fields.ts";
import {
  type CodeBook,
  type CodeLookup,
  type Column,
  absentCode,
  codedFields,
  isWide,
  narrowColumns,
  otherCode,
  unknownCode,
} from "./value-codes.ts";

/** Number of SIMs whose signatures are in one string. */
export const simsPerChunk = 4_096;
const bloomLength = 32;
const wideLength = 2;
const narrowStart = bloomLength + codedFields.length * wideLength;
export const signatureLength = narrowStart + narrowColumns;
const bitsPerCharacter = 6;
const bits = bloomLength * bitsPerCharacter;
const firstCharacter = 48; // "0"; the scripts know it as well, and the next one
const keepCharacter = "~";

/** Result of testing a signature: certain, or only after reading the record. */
export type Prefilter = "matches" | "may-match" | "differs";

/** What a field's name contributes to every signature with that field. */
interface NameParts {
  /** Bit positions of the field, and of the objects that contain it. */
  readonly places: readonly number[];
  /** Columns of those objects; an object has no code. */
  readonly objectColumns: readonly Column[];
  /** The column of the field itself. */
  readonly column: Column | undefined;
  /** Initial hash state for its value. */
  readonly mixed: number;
}

/** Maximum number of cached names; a fleet in which every SIM has different tags has more. */
const maxNames = 1_000;

/** Builds signatures one after the other, reusing its buffers for every SIM of a page. */
export class Signatures {
  readonly #names = new Map<string, NameParts>();
  /** The code book that the cached names belong to, and its number of columns at that time. */
  #book: CodeBook = noBook;
  #columnsGiven = 0;
  /** Characters of the current SIM's signature. */
  readonly #characters = Buffer.alloc(signatureLength);

  /** The signature of a complete record. */
  of(fields: SimFields, book: CodeBook): string {
    this.begin(book);
    for (const [name, value] of fields) this.add(name, textOf(value));
    return this.end();
  }

  /** What a response adds to a signature (see sign_also in take.lua). Codes are kept, or set to not known. */
  ofAnswer(fields: SimFields, mentioned: readonly string[]): string {
    this.begin(noBook);
    for (const [name, value] of fields) this.add(name, textOf(value));
    for (const [column, field] of codedFields.entries()) {
      if (mentioned.includes(field)) this.#putCode(column, unknownCode);
      else this.#characters.fill(keepCharacter, columnAt(column), columnAt(column) + wideLength);
    }
    // The assignment of narrow columns is not known at this point.
    const isOfOthers = mentioned.some((field) => !codedFields.some((coded) => coded === field));
    this.#characters.fill(isOfOthers ? firstCharacter : keepCharacter, narrowStart);
    return this.end();
  }

  /** Begins a signature without any field; columns that have a field state this with certainty. */
  begin(book: CodeBook): void {
    if (book !== this.#book || book.columnsGiven !== this.#columnsGiven) {
      this.#names.clear();
      this.#book = book;
      this.#columnsGiven = book.columnsGiven;
    }
    this.#characters.fill(firstCharacter);
    const columns = codedFields.length + this.#columnsGiven;
    for (let column = 0; column < columns; column += 1) this.#putCode(column, absentCode);
  }

  /** Adds a field of the current SIM. */
  add(name: string, text: string): void {
    const parts = this.#names.get(name) ?? this.#learn(name);
    for (const place of parts.places) this.#setBit(place);
    for (const { index } of parts.objectColumns) this.#putCode(index, unknownCode);
    this.#set(mixedText(text, parts.mixed));
    if (parts.column === undefined) this.#book.note(name, text);
    else this.#putCode(parts.column.index, this.#book.codeOf(parts.column, text));
  }

  end(): string {
    return this.#characters.toString("latin1");
  }

  /** Like `end`, but writes into bytes. */
  endIn(bytes: Buffer, at: number): void {
    bytes.set(this.#characters, at);
  }

  #learn(name: string): NameParts {
    const places: number[] = [];
    const objectColumns: Column[] = [];
    let mixed = basis;
    for (let i = 0; i < name.length; i += 1) {
      const code = name.charCodeAt(i);
      // An object exists if it has a member at any depth; its members have no codes.
      if (code === dot) {
        places.push(...placesOfMixed(mixed));
        const column = this.#book.columnOf(name.slice(0, i));
        if (column !== undefined) objectColumns.push(column);
      }
      mixed = mix(mixed, code);
    }
    places.push(...placesOfMixed(mixed));
    const parts = { places, objectColumns, column: this.#book.columnOf(name), mixed: mix(mixed, equals) };
    if (this.#names.size >= maxNames) this.#names.clear();
    this.#names.set(name, parts);
    return parts;
  }

  #putCode(column: number, code: number): void {
    const at = columnAt(column);
    if (isWide(column)) {
      this.#characters[at] = firstCharacter + (code >> bitsPerCharacter);
      this.#characters[at + 1] = firstCharacter + (code & 0x3f);
    } else {
      this.#characters[at] = firstCharacter + code;
    }
  }

  #set(mixed: number): void {
    const spread = mixed ^ (mixed >>> 15);
    const step = stepOf(spread);
    let place = firstOf(spread);
    for (let i = 0; i < bitsPerItem; i += 1) {
      this.#setBit(place);
      place = (place + step) % bits;
    }
  }

  #setBit(place: number): void {
    const at = Math.trunc(place / bitsPerCharacter);
    const code = (this.#characters[at] ?? firstCharacter) - firstCharacter;
    this.#characters[at] = (code | (1 << (place - at * bitsPerCharacter))) + firstCharacter;
  }
}

/** A code book without any code. */
const noBook: CodeBook = {
  columnsGiven: 0,
  columnOf: () => undefined,
  codeOf: () => unknownCode,
  note: () => undefined,
};

/**
 * Tests a filter against a chunk of signatures.
 * @returns a function from a SIM's place in the chunk to the result of its signature
 */
export function prefilter(filter: Filter, chunk: Buffer, codes: CodeLookup): (place: number) => Prefilter {
  const tests = filter.conditions.map((condition) => codedTestOf(condition, codes) ?? testOf(condition));
  return (place) => {
    const start = place * signatureLength;
    let isSure = true;
    for (const test of tests) {
      const seen = test(chunk, start);
      if (seen === "differs") return "differs";
      if (seen === "may-match") isSure = false;
    }
    return isSure ? "matches" : "may-match";
  };
}

/** The codes of a column by place in a chunk; `unknownCode` without a column. */
export function codesIn(chunk: Buffer, column: number): (place: number) => number {
  return column < 0 ? () => unknownCode : (place) => codeIn(chunk, place * signatureLength, column);
}

type Test = (chunk: Buffer, start: number) => Prefilter;

/** Test for a field with a column: certain, unless the SIM's code is not known or not specific enough. */
function codedTestOf(condition: Condition, codes: CodeLookup): Test | undefined {
  const column = codes.columnOf(condition.field);
  if (column < 0) return undefined;
  const fallback = testOf(condition);
  const decide = decisionOf(condition, codes);
  const unsure = new Set([unknownCode]);
  if (!isWide(column) && valuesOf(condition).some((value) => codes.codeOf(condition.field, value) === unknownCode)) {
    unsure.add(otherCode);
  }
  return (chunk, start) => {
    const code = codeIn(chunk, start, column);
    if (unsure.has(code)) return fallback(chunk, start);
    return decide(code) ? "matches" : "differs";
  };
}

function valuesOf(condition: Condition): readonly string[] {
  if (condition.kind === "in") return condition.values;
  return "value" in condition ? [condition.value] : [];
}

/** Whether a SIM with this code matches the condition. A value without its own code belongs to no SIM that has one. */
function decisionOf(condition: Condition, codes: CodeLookup): (code: number) => boolean {
  const { field } = condition;
  switch (condition.kind) {
    case "exists":
      return (code) => code !== absentCode;
    case "absent":
      return (code) => code === absentCode;
    case "equals":
    case "differs": {
      const wanted = codes.codeOf(field, condition.value);
      return (code) => (code === wanted) === (condition.kind === "equals");
    }
    case "in": {
      const wanted = new Set(condition.values.map((value) => codes.codeOf(field, value)));
      return (code) => wanted.has(code);
    }
  }
}

function columnAt(column: number): number {
  return isWide(column) ? bloomLength + column * wideLength : narrowStart + column - codedFields.length;
}

function codeIn(chunk: Buffer, start: number, column: number): number {
  const at = start + columnAt(column);
  const first = (chunk[at] ?? firstCharacter) - firstCharacter;
  if (!isWide(column)) return first;
  return (first << bitsPerCharacter) | ((chunk[at + 1] ?? firstCharacter) - firstCharacter);
}

function testOf(condition: Condition): Test {
  const { field } = condition;
  switch (condition.kind) {
    case "exists":
      return wants([field]);
    case "absent":
      return wantsNone(field);
    case "equals":
      return wants(itemsOf(field, condition.value));
    case "in":
      return wants(condition.values.flatMap((value) => itemsOf(field, value)));
    case "differs":
      return condition.value === objectText ? () => "may-match" : wantsNone(`${field}=${condition.value}`);
  }
}

/** Value of an object that is stored member by member, as filters see it: it can only be tested for existence. */
export const objectText = "{}";

function itemsOf(field: string, value: string): string[] {
  return value === objectText ? [`${field}=${value}`, field] : [`${field}=${value}`];
}

/** Requires one of the items. */
function wants(items: readonly string[]): Test {
  const places = items.map(placesOf);
  return (chunk, start) => (places.some((all) => hasBits(chunk, start, all)) ? "may-match" : "differs");
}

function wantsNone(item: string): Test {
  const places = placesOf(item);
  return (chunk, start) => (hasBits(chunk, start, places) ? "may-match" : "matches");
}

function hasBits(chunk: Buffer, start: number, places: readonly number[]): boolean {
  return places.every((place) => hasBit(chunk, start, place));
}

function hasBit(chunk: Buffer, start: number, place: number): boolean {
  const code = (chunk[start + Math.floor(place / bitsPerCharacter)] ?? firstCharacter) - firstCharacter;
  return ((code >> (place % bitsPerCharacter)) & 1) === 1;
}

const basis = 0x811c9dc5;
const bitsPerItem = 3;
const equals = "=".charCodeAt(0);
const dot = ".".charCodeAt(0);

/** FNV-1a, one character at a time. */
function mix(mixed: number, code: number): number {
  return Math.imul(mixed ^ code, 0x01000193);
}

function mixedText(text: string, from: number): number {
  let mixed = from;
  for (let i = 0; i < text.length; i += 1) mixed = mix(mixed, text.charCodeAt(i));
  return mixed;
}

function firstOf(spread: number): number {
  return (spread >>> 0) % bits;
}

function stepOf(spread: number): number {
  return 1 + ((Math.imul(spread, 0x9e3779b1) >>> 8) % (bits - 1));
}

function placesOf(item: string): readonly number[] {
  return placesOfMixed(mixedText(item, basis));
}

function placesOfMixed(mixed: number): readonly number[] {
  const spread = mixed ^ (mixed >>> 15);
  return Array.from({ length: bitsPerItem }, (_, i) => (firstOf(spread) + i * stepOf(spread)) % bits);
}

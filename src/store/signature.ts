/**
 * The index of the inventory: 32 bytes a SIM that say which fields and values it may have (a Bloom filter). Signatures of
 * 4,096 SIMs lie side by side in one string, so that a filter is held against a million in a few hundred milliseconds;
 * only SIMs that may match are read. A signature errs to one side alone: what it denies is not there; what it affirms
 * has to be looked up, as a few in a hundred are not there either.
 *
 * Six bits are kept in one printable character, so that scripts can take, store and join signatures as plain text.
 */
import type { Condition, Filter } from "#fleet/filter.ts";
import { type SimFields, textOf } from "#fleet/sim-fields.ts";

/** SIMs whose signatures lie in one string. */
export const simsPerChunk = 4_096;
const signatureLength = 32;
const bitsPerCharacter = 6;
const bits = signatureLength * bitsPerCharacter;
const firstCharacter = 48; // "0"; the scripts know it as well
const rememberedItems = 20_000;

/** What a filter asks of signatures: decided by bits alone, or only after a look at the record. */
export type Sighting = "matches" | "may-match" | "differs";

export class Signatures {
  /** Values repeat from SIM to SIM: their places are worked out once. */
  readonly #places = new Map<string, readonly number[]>();

  of(fields: SimFields): string {
    const codes = new Uint8Array(signatureLength);
    for (const [name, value] of fields) {
      // An object is there when it has a member, at whatever depth.
      for (let dot = name.indexOf("."); dot >= 0; dot = name.indexOf(".", dot + 1))
        this.#set(codes, name.slice(0, dot));
      this.#set(codes, name);
      this.#set(codes, `${name}=${textOf(value)}`);
    }
    return String.fromCharCode(...codes.map((code) => code + firstCharacter));
  }

  #set(codes: Uint8Array, item: string): void {
    for (const place of this.#placesOf(item)) {
      const at = Math.floor(place / bitsPerCharacter);
      codes[at] = (codes[at] ?? 0) | (1 << (place % bitsPerCharacter));
    }
  }

  #placesOf(item: string): readonly number[] {
    let places = this.#places.get(item);
    if (places === undefined) {
      places = placesOf(item);
      if (this.#places.size >= rememberedItems) this.#places.clear();
      this.#places.set(item, places);
    }
    return places;
  }
}

/**
 * Holds a filter against a chunk of signatures.
 * @returns a function from a SIM's place in the chunk to what its signature says
 */
export function sighting(filter: Filter, chunk: Buffer): (place: number) => Sighting {
  const tests = filter.conditions.map(testOf);
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

type Test = (chunk: Buffer, start: number) => Sighting;

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

/** As filters see an object that is kept member by member: no signature has this text, only that the field is there. */
const objectText = "{}";

function itemsOf(field: string, value: string): string[] {
  return value === objectText ? [`${field}=${value}`, field] : [`${field}=${value}`];
}

/** One of the items has to be there. */
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

/** Three bits an item: FNV-1a, and two steps from it. */
function placesOf(item: string): readonly number[] {
  let mixed = 0x811c9dc5;
  for (let i = 0; i < item.length; i += 1) mixed = Math.imul(mixed ^ item.charCodeAt(i), 0x01000193);
  mixed ^= mixed >>> 15;
  const first = (mixed >>> 0) % bits;
  const step = 1 + ((Math.imul(mixed, 0x9e3779b1) >>> 8) % (bits - 1));
  return [first, (first + step) % bits, (first + 2 * step) % bits];
}

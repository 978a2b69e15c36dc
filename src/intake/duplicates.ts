/**
 * Finds rows of a file that change the same SIM. Rows are identified by their index; each takes a few numbers in typed
 * arrays (about 20 bytes, and 40 more until `seal`), where a Map of strings takes over 150. The rows of a SIM form a chain
 * from the first one, so that a conflict can list its lines without a list per SIM. Texts are compared by hashes with random
 * seeds: values by 52 bits, what a row changes by 104.
 */
import { randomInt } from "node:crypto";

const invalid = 0;
const conflicting = 1;

export class Duplicates {
  readonly #hashes = [hasher(), hasher(), hasher()] as const;
  #count = 0;
  #lines = new Uint32Array(1024);
  #first = new Uint32Array(1024);
  #next = new Uint32Array(1024);
  /** Used only while rows are added: the last row of the chain that starts here, and two hashes of what a row changes. */
  #last = new Uint32Array(1024);
  #subjects = new Float64Array(1024);
  #otherSubjects = new Float64Array(1024);
  /** Open addressing by the first hash: the row that starts a chain, plus one; 0 is free. Twice as long as the others. */
  #table = new Uint32Array(2048);
  /** Hash of the row's values; `invalid` for a row with a problem; `conflicting` on the first row of a conflicting chain. */
  #values = new Float64Array(1024);

  get count(): number {
    return this.#count;
  }

  /** Adds the next row, which is invalid and therefore excluded. */
  addInvalid(line: number): void {
    const index = this.#grow();
    this.#lines[index] = line;
    this.#first[index] = index;
    this.#values[index] = invalid;
  }

  /**
   * Adds the next row.
   * @param subject what it changes: the SIM's key, or key and fields
   * @returns the first row with the same subject; the row itself if there is none before it
   */
  add(line: number, subject: string, inputs: readonly string[]): number {
    const index = this.#grow();
    const [hashOfValues, hashOfSubject, otherHashOfSubject] = this.#hashes;
    const values = hashOfValues(inputs);
    this.#subjects[index] = hashOfSubject([subject]);
    this.#otherSubjects[index] = otherHashOfSubject([subject]);
    const first = this.#firstLike(index);
    this.#lines[index] = line;
    this.#values[index] = values;
    this.#first[index] = first;
    if (first === index) {
      this.#last[index] = index;
      return index;
    }
    this.#next[this.#last[first] ?? first] = index;
    this.#last[first] = index;
    if (this.#values[first] !== values) this.#values[first] = conflicting;
    return first;
  }

  /** From now on the object is read-only. */
  seal(): void {
    this.#last = this.#table = new Uint32Array(0);
    this.#subjects = this.#otherSubjects = new Float64Array(0);
  }

  isConflict(index: number): boolean {
    return this.#values[index] !== invalid && this.#values[this.#first[index] ?? index] === conflicting;
  }

  lineOf(index: number): number {
    return this.#lines[index] ?? 0;
  }

  /** The first lines that name the same SIM as this row, in order. */
  linesOf(index: number, max: number): readonly number[] {
    const lines: number[] = [];
    let at = this.#first[index] ?? index;
    while (lines.length < max) {
      lines.push(this.lineOf(at));
      const next = this.#next[at] ?? 0;
      if (next === 0) break;
      at = next;
    }
    return lines;
  }

  /** Number of rows that name the same SIM as this first one; 1 for any other row. */
  weightOf(index: number): number {
    if (this.#first[index] !== index) return 1;
    let weight = 1;
    for (let at = this.#next[index] ?? 0; at !== 0; at = this.#next[at] ?? 0) weight += 1;
    return weight;
  }

  /** The row that starts the chain of this one; the row itself, from now on, if there is none. */
  #firstLike(index: number): number {
    const mask = this.#table.length - 1;
    for (let place = (this.#subjects[index] ?? 0) & mask; ; place = (place + 1) & mask) {
      const first = (this.#table[place] ?? 0) - 1;
      if (first === -1) this.#table[place] = index + 1;
      if (first === -1) return index;
      const isSame = this.#subjects[first] === this.#subjects[index];
      if (isSame && this.#otherSubjects[first] === this.#otherSubjects[index]) return first;
    }
  }

  #grow(): number {
    const index = this.#count;
    this.#count += 1;
    if (index === this.#lines.length) {
      this.#lines = doubled(this.#lines, new Uint32Array(index * 2));
      this.#first = doubled(this.#first, new Uint32Array(index * 2));
      this.#next = doubled(this.#next, new Uint32Array(index * 2));
      this.#last = doubled(this.#last, new Uint32Array(index * 2));
      this.#values = doubled(this.#values, new Float64Array(index * 2));
      this.#subjects = doubled(this.#subjects, new Float64Array(index * 2));
      this.#otherSubjects = doubled(this.#otherSubjects, new Float64Array(index * 2));
      this.#table = new Uint32Array(index * 4);
      for (let row = 0; row < index; row += 1) {
        if (this.#values[row] !== invalid && this.#first[row] === row) this.#firstLike(row);
      }
    }
    return index;
  }
}

/** Hashes texts to 52 bits; never to `invalid` or `conflicting`. */
function hasher(): (texts: readonly string[]) => number {
  const seeds = [randomInt(2 ** 32), randomInt(2 ** 32)] as const;
  return (texts) => {
    let [low, high] = seeds as [number, number];
    for (const text of texts) {
      for (let i = 0; i < text.length; i += 1) {
        const code = text.charCodeAt(i);
        low = Math.imul(low ^ code, 2_654_435_761);
        high = Math.imul(high ^ code, 1_597_334_677);
      }
      // An end that no character has, so that ["ab", ""] differs from ["a", "b"].
      low = Math.imul(low ^ 0x10000, 2_654_435_761);
      high = Math.imul(high ^ 0x10000, 1_597_334_677);
    }
    low = Math.imul(low ^ (low >>> 16), 2_246_822_507) ^ Math.imul(high ^ (high >>> 13), 3_266_489_909);
    high = Math.imul(high ^ (high >>> 16), 2_246_822_507) ^ Math.imul(low ^ (low >>> 13), 3_266_489_909);
    return (high >>> 12) * 2 ** 32 + (low >>> 0) + 2;
  };
}

function doubled<T extends Uint32Array | Float64Array>(from: T, to: T): T {
  to.set(from);
  return to;
}

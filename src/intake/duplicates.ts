/**
 * Finds rows of a file that change the same SIM. Rows are identified by their index; each takes a few numbers in typed
 * arrays (20 bytes, and 24 to 48 more until `seal`), where a Map of strings takes over 150. The rows of a SIM form a
 * chain from the first one, so that a conflict can list its lines without a list per SIM. Texts are compared by hashes
 * with random seeds: values by 52 bits, what a row changes by 104.
 */
import { randomInt } from "node:crypto";
import type { Row } from "#fleet/run.ts";

const invalid = 0;
const conflicting = 1;

type Candidate = Pick<Row, "line" | "key" | "inputs" | "problem">;

export class Duplicates {
  readonly #hash = new Hash();
  #count = 0;
  #lines = new Uint32Array(1024);
  /** The first row of the chain, and on the first row the last one: the row itself if it is alone. */
  #ends = new Uint32Array(1024);
  #next = new Uint32Array(1024);
  /** Hash of a row's values; `invalid` for a row with a problem; `conflicting` on the first of a conflicting chain. */
  #values = new Float64Array(1024);
  /** Used only while rows are added: two hashes of what a row changes. */
  #subjects = new Float64Array(1024);
  #otherSubjects = new Float64Array(1024);
  /** Open addressing by the first hash: the row that starts a chain, plus 1; 0 is free. Twice as long as the others. */
  #table = new Uint32Array(2048);

  get count(): number {
    return this.#count;
  }

  /** Adds the next rows, but no invalid ones. @param subjectOf what a row changes: the SIM's key, or key and fields */
  add(rows: readonly Candidate[], subjectOf: (row: Candidate) => string): void {
    const begin = this.#count;
    const end = begin + rows.length;
    while (end > this.#lines.length) this.#grow();
    this.#count = end;
    let index = begin;
    for (const row of rows) {
      this.#lines[index] = row.line;
      if (row.problem === undefined) {
        this.#values[index] = this.#hash.of(row.inputs);
        this.#subjects[index] = this.#hash.of([subjectOf(row)]);
        this.#otherSubjects[index] = this.#hash.other;
      }
      index += 1;
    }
    // Memory at random places loads slowly, unless it loads together: so the places of all rows are read before any of
    // them is needed. `#link` overwrites what is kept here.
    const mask = this.#table.length - 1;
    for (let row = begin; row < end; row += 1) this.#ends[row] = this.#table[(this.#subjects[row] ?? 0) & mask] ?? 0;
    for (let row = begin; row < end; row += 1) this.#link(row);
  }

  /** From now on the object is read-only. */
  seal(): void {
    this.#table = new Uint32Array(0);
    this.#subjects = this.#otherSubjects = new Float64Array(0);
  }

  /** The first row with the same subject; the row itself if there is none before it. */
  firstOf(index: number): number {
    return Math.min(index, this.#ends[index] ?? index);
  }

  isConflict(index: number): boolean {
    return this.#values[index] !== invalid && this.#values[this.firstOf(index)] === conflicting;
  }

  lineOf(index: number): number {
    return this.#lines[index] ?? 0;
  }

  /** The first lines that name the same SIM as this row, in order. */
  linesOf(index: number, max: number): readonly number[] {
    const lines: number[] = [];
    let at = this.firstOf(index);
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
    if (this.firstOf(index) !== index) return 1;
    let weight = 1;
    for (let at = this.#next[index] ?? 0; at !== 0; at = this.#next[at] ?? 0) weight += 1;
    return weight;
  }

  /** Appends a row to its chain. */
  #link(index: number): void {
    this.#ends[index] = index;
    const values = this.#values[index];
    const first = values === invalid ? index : this.#firstLike(index);
    if (first === index) return;
    this.#next[this.#ends[first] ?? first] = index;
    this.#ends[first] = index;
    this.#ends[index] = first;
    if (this.#values[first] !== values) this.#values[first] = conflicting;
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

  #grow(): void {
    // Each step places all rows before it again, so the steps are large, up to the most rows that a file may have. Of
    // the arrays, only what is written to takes memory; the table, written at random places, takes all of its own.
    const length = this.#lines.length * (this.#count < 1_000_000 ? 4 : 2);
    this.#lines = grown(this.#lines, new Uint32Array(length));
    this.#ends = grown(this.#ends, new Uint32Array(length));
    this.#next = grown(this.#next, new Uint32Array(length));
    this.#values = grown(this.#values, new Float64Array(length));
    this.#subjects = grown(this.#subjects, new Float64Array(length));
    this.#otherSubjects = grown(this.#otherSubjects, new Float64Array(length));
    this.#table = new Uint32Array(length * 2);
    for (let row = 0; row < this.#count; row += 1) {
      if (this.#values[row] !== invalid && this.firstOf(row) === row) this.#firstLike(row);
    }
  }
}

/** Hashes texts to two numbers of 52 bits, never `invalid` or `conflicting`. Compare only hashes of the same object. */
class Hash {
  /** The second number of the last texts. */
  other = 0;
  readonly #a = randomInt(2 ** 32);
  readonly #b = randomInt(2 ** 32);
  readonly #c = randomInt(2 ** 32);
  readonly #d = randomInt(2 ** 32);

  /** @returns the first number */
  of(texts: readonly string[]): number {
    let a = this.#a;
    let b = this.#b;
    let c = this.#c;
    let d = this.#d;
    for (const text of texts) {
      for (let i = 0; i <= text.length; i += 1) {
        // After a text comes what no character is, so that ["ab", ""] differs from ["a", "b"].
        const code = i === text.length ? 0x10000 : text.charCodeAt(i);
        a = Math.imul(a ^ code, 2_654_435_761);
        b = Math.imul(b ^ code, 1_597_334_677);
        c = Math.imul(c ^ code, 2_246_822_507);
        d = Math.imul(d ^ code, 3_266_489_909);
      }
    }
    this.other = mixed(c, d);
    return mixed(a, b);
  }
}

function mixed(one: number, other: number): number {
  const low = Math.imul(one ^ (one >>> 16), 2_246_822_507) ^ Math.imul(other ^ (other >>> 13), 3_266_489_909);
  const high = Math.imul(other ^ (other >>> 16), 2_246_822_507) ^ Math.imul(low ^ (low >>> 13), 3_266_489_909);
  return (high >>> 12) * 2 ** 32 + (low >>> 0) + 2;
}

function grown<T extends Uint32Array | Float64Array>(from: T, to: T): T {
  to.set(from);
  return to;
}

/**
 * Finds rows of a file that name the same SIM. Rows are identified by their index; each takes a few numbers in typed
 * arrays (about 14 bytes), plus an index of the keys during the survey, which `seal` releases. The rows of a SIM form a
 * chain from the first one, so that a conflict can list its lines without a list per SIM.
 */
import { IntakeError } from "#core/errors.ts";
import { KeyIndex } from "./key-index.ts";

/** More distinct classes than this mean that the wrong column is named `speedClass`. */
const maxClasses = 10_000;

const unknown = 0;
const conflicting = 0xffff;

export class Duplicates {
  #keys = new KeyIndex();
  #numberByClass = new Map<string, number>();
  #count = 0;
  #lines = new Uint32Array(1024);
  #first = new Uint32Array(1024);
  #next = new Uint32Array(1024);
  /** Used only during the survey: the last row of the chain that begins here. */
  #last = new Uint32Array(1024);
  /**
   * Number of the row's class; `unknown` for a row with a problem; `conflicting` on the first row of a conflicting
   * chain.
   */
  #classes = new Uint16Array(1024);

  get count(): number {
    return this.#count;
  }

  /** Adds the next row, which is invalid and therefore excluded. */
  addInvalid(line: number): void {
    const index = this.#grow();
    this.#lines[index] = line;
    this.#first[index] = index;
    this.#classes[index] = unknown;
  }

  /** Adds the next row. */
  add(line: number, key: string, speedClass: string): void {
    const index = this.#grow();
    const number = this.#numberOf(speedClass);
    const first = this.#keys.firstRowOf(key, index);
    this.#lines[index] = line;
    this.#classes[index] = number;
    this.#first[index] = first;
    if (first === index) {
      this.#last[index] = index;
      return;
    }
    this.#next[this.#last[first] ?? first] = index;
    this.#last[first] = index;
    if (this.#classes[first] !== number) this.#classes[first] = conflicting;
  }

  /** Ends the survey: from now on the object is read-only. */
  seal(): void {
    this.#keys = new KeyIndex();
    this.#numberByClass = new Map();
    this.#last = new Uint32Array(0);
  }

  /** The first row with the same SIM, if it is a different one. */
  duplicateOf(index: number): number | undefined {
    const first = this.#first[index];
    return first === index ? undefined : first;
  }

  isConflict(index: number): boolean {
    return this.#classes[index] !== unknown && this.#classes[this.#first[index] ?? index] === conflicting;
  }

  lineOf(index: number): number {
    return this.#lines[index] ?? 0;
  }

  /** The first lines that name the same SIM as this row, in order. */
  linesOf(index: number, most: number): readonly number[] {
    const lines: number[] = [];
    let at = this.#first[index] ?? index;
    while (lines.length < most) {
      lines.push(this.lineOf(at));
      const next = this.#next[at] ?? 0;
      if (next === 0) break;
      at = next;
    }
    return lines;
  }

  #numberOf(speedClass: string): number {
    const known = this.#numberByClass.get(speedClass);
    if (known !== undefined) return known;
    const number = this.#numberByClass.size + 1;
    if (number > maxClasses) {
      throw new IntakeError(
        `The file has more than ${maxClasses} different speed classes. Is the right column named speedClass?`,
        { column: "speedClass" },
      );
    }
    this.#numberByClass.set(speedClass, number);
    return number;
  }

  #grow(): number {
    const index = this.#count;
    this.#count += 1;
    if (index === this.#lines.length) {
      this.#lines = doubled(this.#lines, new Uint32Array(index * 2));
      this.#first = doubled(this.#first, new Uint32Array(index * 2));
      this.#next = doubled(this.#next, new Uint32Array(index * 2));
      this.#last = doubled(this.#last, new Uint32Array(index * 2));
      this.#classes = doubled(this.#classes, new Uint16Array(index * 2));
    }
    return index;
  }
}

function doubled<T extends Uint32Array | Uint16Array>(from: T, to: T): T {
  to.set(from);
  return to;
}

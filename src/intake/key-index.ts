/**
 * Maps millions of SIM keys to row numbers: about 45 bytes per key, where a Map of strings takes over 150. Keys are
 * ASCII (guaranteed by the allow-list of `fleet/sim`) and are stored end to end in byte blocks; an open-addressing hash
 * table of entry numbers finds them. The hash has a random seed, so that no file can be crafted to collide.
 */
import { randomInt } from "node:crypto";

const blockBits = 20;
const blockBytes = 2 ** blockBits;
const blockMask = blockBytes - 1;

export class KeyIndex {
  readonly #seed = randomInt(2 ** 32);
  readonly #blocks: Uint8Array[] = [new Uint8Array(blockBytes)];
  #free = 0;
  #count = 0;
  /** Entry number plus one; 0 is a free slot. Its length is a power of two, at least twice the count. */
  #table = new Uint32Array(4096);
  #starts = new Uint32Array(2048);
  #hashes = new Uint32Array(2048);
  #rows = new Uint32Array(2048);

  /** Stores `row` for a new key. @returns the row of the key's first occurrence */
  firstRowOf(key: string, row: number): number {
    const start = this.#write(key);
    const hash = this.#hashOf(start);
    const mask = this.#table.length - 1;
    let place = hash & mask;
    for (;;) {
      const entry = (this.#table[place] ?? 0) - 1;
      if (entry === -1) break;
      if (this.#hashes[entry] === hash && this.#isSame(this.#starts[entry] ?? 0, start)) return this.#rows[entry] ?? 0;
      place = (place + 1) & mask;
    }
    this.#table[place] = this.#count + 1;
    this.#starts[this.#count] = start;
    this.#hashes[this.#count] = hash;
    this.#rows[this.#count] = row;
    this.#count += 1;
    this.#free = start + key.length + 1;
    if (this.#count === this.#starts.length) this.#grow();
    return row;
  }

  /** Writes the key, terminated by a zero byte, to the position of the next new key; it is kept only if it is new. */
  #write(key: string): number {
    if ((this.#free & blockMask) + key.length + 1 > blockBytes) this.#free = (this.#free | blockMask) + 1;
    const start = this.#free;
    const at = start & blockMask;
    const block = (this.#blocks[start >>> blockBits] ??= new Uint8Array(blockBytes));
    for (let i = 0; i < key.length; i += 1) block[at + i] = key.charCodeAt(i);
    block[at + key.length] = 0;
    return start;
  }

  #hashOf(start: number): number {
    const block = this.#blocks[start >>> blockBits];
    let hash = this.#seed;
    for (let at = start & blockMask; ; at += 1) {
      const byte = block?.[at] ?? 0;
      if (byte === 0) break;
      hash = Math.imul(hash ^ byte, 0x01000193);
      hash ^= hash >>> 15;
    }
    hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
    return (hash ^ (hash >>> 13)) >>> 0;
  }

  #isSame(one: number, other: number): boolean {
    const a = this.#blocks[one >>> blockBits];
    const b = this.#blocks[other >>> blockBits];
    let i = one & blockMask;
    let j = other & blockMask;
    for (; a?.[i] === b?.[j]; i += 1, j += 1) {
      if (a?.[i] === 0) return true;
    }
    return false;
  }

  #grow(): void {
    this.#starts = grown(this.#starts);
    this.#hashes = grown(this.#hashes);
    this.#rows = grown(this.#rows);
    this.#table = new Uint32Array(this.#table.length * 2);
    const mask = this.#table.length - 1;
    for (let entry = 0; entry < this.#count; entry += 1) {
      let place = (this.#hashes[entry] ?? 0) & mask;
      while (this.#table[place] !== 0) place = (place + 1) & mask;
      this.#table[place] = entry + 1;
    }
  }
}

function grown(from: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  const to = new Uint32Array(from.length * 2);
  to.set(from);
  return to;
}

/**
 * What a page tells of its SIMs, as take-page.lua wants it: of each its signature and a line for each field, ended by a
 * carriage return, which no line has. It is written straight into bytes, so that little of a page is left behind for the
 * garbage collector to carry about.
 */
import { encodeName } from "#fleet/field-text.ts";
import type { FieldVisitor } from "#fleet/sim-fields.ts";
import { Signatures } from "./signature.ts";
import type { ListedSims } from "./sync-log.ts";
import type { ValueCodes } from "./value-codes.ts";

const end = "\r";
const firstBytes = 16_384;
/** A character of a string takes no more bytes than this. */
const mostBytes = 3;

export class ToldSims {
  /** Those that are told of, in this order. */
  readonly places: number[] = [];
  readonly #sims: ListedSims;
  readonly #codes: ValueCodes;
  readonly #signatures = new Signatures();
  #bytes = Buffer.allocUnsafe(firstBytes);
  #length = 0;
  #lines = "";

  constructor(sims: ListedSims, codes: ValueCodes) {
    this.#sims = sims;
    this.#codes = codes;
  }

  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  tell(place: number): void {
    this.#lines = "";
    this.#signatures.begin();
    this.#sims.tell(place, this.#visit);
    this.places.push(place);
    this.#write(this.#signatures.end() + this.#lines + end);
  }

  readonly #visit: FieldVisitor = (name, kind, text) => {
    this.#signatures.add(name, text, this.#codes.lookUp);
    const line = `${encodeName(name)}${kind === "text" ? "=" : ":"}${text}`;
    this.#lines = this.#lines === "" ? line : `${this.#lines}\n${line}`;
  };

  #write(text: string): void {
    const needed = this.#length + text.length * mostBytes;
    if (needed > this.#bytes.length) {
      const more = Buffer.allocUnsafe(Math.max(needed, this.#bytes.length * 2));
      this.#bytes.copy(more, 0, 0, this.#length);
      this.#bytes = more;
    }
    this.#length += this.#bytes.write(text, this.#length);
  }
}

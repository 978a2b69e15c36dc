/**
 * What a page tells of its SIMs, as take-page.lua wants it: their signatures side by side, and of each a line for every
 * field, ended by a carriage return, which no line has. It is written straight into bytes, so that little of a page is
 * left behind for the garbage collector to carry about.
 */
import { encodeName } from "#fleet/field-text.ts";
import type { FieldVisitor } from "#fleet/sim-fields.ts";
import { Signatures, signatureLength } from "./signature.ts";
import type { ValueCodes } from "./value-codes.ts";

const end = 0x0d;
/** What is usual for a SIM, so that the bytes of a page rarely have to move. */
const usualBytes = 300;
/** A character of a string takes no more bytes than this. */
const mostBytes = 3;
const mostNames = 1_000;

/** The SIMs of a page. */
export interface ListedSims {
  readonly keys: readonly string[];
  /** Of each, side by side, 13 characters that tell whether anything in its record is another than last time. */
  readonly digests: string;
  /** Goes through what is kept of a record; asked only where it is not as it was known. */
  readonly encodeFields: (place: number, visit: FieldVisitor) => void;
}

/** What tells of SIMs remembers from page to page. */
export class LineEncoder {
  readonly signatures = new Signatures();
  readonly #names = new Map<string, string>();

  /** The name of a field as it begins a line. */
  nameOf(field: string): string {
    let name = this.#names.get(field);
    if (name === undefined) {
      name = encodeName(field);
      if (this.#names.size >= mostNames) this.#names.clear();
      this.#names.set(field, name);
    }
    return name;
  }
}

export class PageEncoder {
  /** Those that are told of, in this order. */
  readonly places: number[] = [];
  readonly #sims: ListedSims;
  readonly #codes: ValueCodes;
  readonly #lineEncoder: LineEncoder;
  #signatures: Buffer;
  #lines: Buffer;
  #length = 0;
  /** Of the SIM at hand. */
  #text = "";

  /** @param most SIMs that are told of at first; more may follow */
  constructor(
    sims: ListedSims,
    { codes, lineEncoder, most }: { codes: ValueCodes; lineEncoder: LineEncoder; most: number },
  ) {
    this.#sims = sims;
    this.#codes = codes;
    this.#lineEncoder = lineEncoder;
    this.#signatures = Buffer.allocUnsafe(most * signatureLength);
    this.#lines = Buffer.allocUnsafe(most * usualBytes);
  }

  get signatures(): Buffer {
    return this.#signatures.subarray(0, this.places.length * signatureLength);
  }

  get lines(): Buffer {
    return this.#lines.subarray(0, this.#length);
  }

  encodeFields(place: number): void {
    const { signatures } = this.#lineEncoder;
    this.#text = "";
    signatures.begin(this.#codes);
    this.#sims.encodeFields(place, this.#visit);
    const at = this.places.length * signatureLength;
    this.#signatures = withRoom(this.#signatures, at, signatureLength);
    signatures.endIn(this.#signatures, at);
    this.#lines = withRoom(this.#lines, this.#length, this.#text.length * mostBytes + 1);
    this.#length += this.#lines.write(this.#text, this.#length);
    this.#lines[this.#length] = end;
    this.#length += 1;
    this.places.push(place);
  }

  readonly #visit: FieldVisitor = (name, kind, text) => {
    this.#lineEncoder.signatures.add(name, text);
    const start = this.#lineEncoder.nameOf(name);
    const mark = kind === "text" ? "=" : ":";
    this.#text = this.#text === "" ? start + mark + text : `${this.#text}\n${start}${mark}${text}`;
  };
}

/** The bytes so far with room for more behind them. */
function withRoom(bytes: Buffer, length: number, more: number): Buffer {
  if (length + more <= bytes.length) return bytes;
  const wider = Buffer.allocUnsafe(Math.max(length + more, bytes.length * 2));
  bytes.copy(wider, 0, 0, length);
  return wider;
}

/**
 * Encodes the SIMs of a page for take-page.lua: their signatures, concatenated, and for each SIM a line per field, ended by a
 * carriage return, which no line contains. It writes directly into bytes to keep garbage collection low.
 */
import { encodeName } from "#fleet/sim/field-text.ts";
import type { FieldVisitor } from "#fleet/sim/sim-fields.ts";
import { Signatures, signatureLength } from "./signature.ts";
import type { ValueCodes } from "./value-codes.ts";

const end = 0x0d;
/** Typical size of a SIM; the buffer starts large enough that it rarely has to grow. */
const usualBytes = 300;
/** Maximum number of bytes per character of a string. */
const maxBytes = 3;
const maxNames = 1_000;

/** The SIMs of a page. */
export interface ListedSims {
  readonly keys: readonly string[];
  /** Concatenated digests of 13 characters per SIM, which show whether anything in its record has changed. */
  readonly digests: string;
  /** Visits the stored fields of a record; called only for SIMs that have changed. */
  readonly encodeFields: (place: number, visit: FieldVisitor) => void;
}

/** Encodes SIMs; keeps its caches from page to page. */
export class LineEncoder {
  readonly signatures = new Signatures();
  readonly #names = new Map<string, string>();

  /** The name of a field, encoded as the start of a line. */
  nameOf(field: string): string {
    let name = this.#names.get(field);
    if (name === undefined) {
      name = encodeName(field);
      if (this.#names.size >= maxNames) this.#names.clear();
      this.#names.set(field, name);
    }
    return name;
  }
}

export class PageEncoder {
  /** Positions of the encoded SIMs, in this order. */
  readonly places: number[] = [];
  readonly #sims: ListedSims;
  readonly #codes: ValueCodes;
  readonly #lineEncoder: LineEncoder;
  #signatures: Buffer;
  #lines: Buffer;
  #length = 0;
  /** Text of the current SIM. */
  #text = "";

  /** @param most expected number of SIMs; more may follow */
  constructor(
    sims: ListedSims,
    { codes, lineEncoder, max }: { codes: ValueCodes; lineEncoder: LineEncoder; max: number },
  ) {
    this.#sims = sims;
    this.#codes = codes;
    this.#lineEncoder = lineEncoder;
    this.#signatures = Buffer.allocUnsafe(max * signatureLength);
    this.#lines = Buffer.allocUnsafe(max * usualBytes);
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
    this.#lines = withRoom(this.#lines, this.#length, this.#text.length * maxBytes + 1);
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

/** Copies the bytes so far into a larger buffer. */
function withRoom(bytes: Buffer, length: number, more: number): Buffer {
  if (length + more <= bytes.length) return bytes;
  const wider = Buffer.allocUnsafe(Math.max(length + more, bytes.length * 2));
  bytes.copy(wider, 0, 0, length);
  return wider;
}

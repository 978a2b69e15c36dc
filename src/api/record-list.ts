/**
 * The records of a list as bytes: where each begins and ends, and its key. Detecting that a record is unchanged needs
 * only its bytes, and parsing a whole list costs more than everything else about reading it. A record is parsed and
 * validated only on access. The scan assumes valid JSON and does not verify it: a record whose bytes equal those of a
 * record parsed earlier is valid JSON, and all others are parsed.
 */
import { PlatformError } from "#core/errors.ts";
import { withoutDepths } from "#fleet/sim/depth.ts";

/** Options of a reader of records. */
export interface RecordOptions<T> {
  /** For messages. */
  readonly operation: string;
  /** The field that identifies a record. */
  readonly key: string;
  /** Names of members that `bytesWithoutSecrets` omits, at any depth of a record. */
  readonly secrets: ReadonlySet<string>;
  /** Validates a parsed record. @returns the location of the problem, or undefined if there is none */
  readonly faultIn: (record: unknown) => string | undefined;
  /** For the type only: a valid record. */
  readonly of?: T;
}

export class RecordList<T> {
  readonly #options: RecordOptions<T>;
  readonly #bytes: Buffer;
  readonly #cut: Cut;

  private constructor(options: RecordOptions<T>, bytes: Buffer, cut: Cut) {
    this.#options = options;
    this.#bytes = bytes;
    this.#cut = cut;
  }

  /** @returns undefined if this is not a list of objects with a key, or only a parser can read it */
  static read<T>(options: RecordOptions<T>, bytes: Buffer): RecordList<T> | undefined {
    const cut = cutRecords(bytes, Buffer.from(options.key), secretNames(options.secrets));
    return cut === undefined ? undefined : new RecordList(options, bytes, cut);
  }

  /** Creates a list from parsed records that have their key. */
  static of<T>(options: RecordOptions<T>, records: readonly T[]): RecordList<T> {
    const texts = records.map((record) => JSON.stringify(withoutDepths(record)));
    const cut: Cut = { keys: [], starts: [], ends: [], isEscaped: texts.map(() => true), secrets: new Map() };
    let at = 0;
    for (const [place, text] of texts.entries()) {
      cut.keys.push(String(Reflect.get(records[place] as object, options.key)));
      cut.starts.push(at);
      at += Buffer.byteLength(text);
      cut.ends.push(at);
    }
    return new RecordList(options, Buffer.from(texts.join("")), cut);
  }

  get keys(): readonly string[] {
    return this.#cut.keys;
  }

  /**
   * The bytes of a record without its secret members, for change detection.
   * @returns undefined if only a parser can find those members: a name contains escapes
   */
  bytesWithoutSecrets(place: number): Buffer | undefined {
    const { starts, ends, isEscaped, secrets } = this.#cut;
    if (isEscaped[place]) return undefined;
    const start = starts[place] ?? 0;
    const end = ends[place] ?? start;
    const left = secrets.get(place);
    if (left === undefined) return this.#bytes.subarray(start, end);
    const deps: Buffer[] = [];
    let at = start;
    for (const [from, to] of left) {
      deps.push(this.#bytes.subarray(at, from));
      at = to;
    }
    deps.push(this.#bytes.subarray(at, end));
    return Buffer.concat(deps);
  }

  /** @throws PlatformError if it is not JSON or does not have the shape of the interface */
  record(place: number): T {
    const text = this.#bytes.toString("utf8", this.#cut.starts[place], this.#cut.ends[place]);
    let record: unknown;
    try {
      record = JSON.parse(text);
    } catch {
      throw this.#fault("PLATFORM_UNAVAILABLE", `record ${place} of a page is not JSON`);
    }
    const fault = this.#options.faultIn(record);
    if (fault === undefined) return record as T;
    throw this.#fault("PLATFORM_RESPONSE_INVALID", `record ${place} of a page is in an unexpected shape (at ${fault})`);
  }

  #fault(code: "PLATFORM_UNAVAILABLE" | "PLATFORM_RESPONSE_INVALID", said: string): PlatformError {
    const { operation } = this.#options;
    return new PlatformError(code, `${operation}: ${said}. Check the address and the deployment.`, { operation });
  }
}

/** A list, split into its records. */
interface Cut {
  readonly keys: string[];
  /** First byte of each record, and the byte after the last one. */
  readonly starts: number[];
  readonly ends: number[];
  /** Whether a member name in the record contains escapes. */
  readonly isEscaped: boolean[];
  /** Byte ranges of secret members, by record. */
  readonly secrets: Map<number, [from: number, to: number][]>;
}

/** Names by their length in bytes; the length alone rules out most strings of a record. */
type Names = readonly (readonly Buffer[] | undefined)[];

function secretNames(secrets: ReadonlySet<string>): Names {
  const names: Buffer[][] = [];
  for (const secret of secrets) {
    const name = Buffer.from(secret);
    (names[name.length] ??= []).push(name);
  }
  // Not sparse: a single access to a missing index would slow down all others.
  return Array.from(names, (some) => some);
}

const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const backslash = 0x5c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

function cutRecords(bytes: Buffer, key: Buffer, secrets: Names): Cut | undefined {
  const cutter = new Cutter(bytes, key, secrets);
  let at = afterSpace(bytes, 0);
  if (bytes[at] !== openBracket) return undefined;
  at = afterSpace(bytes, at + 1);
  let next: number | undefined = bytes[at] === closeBracket ? closeBracket : comma;
  while (next === comma) {
    if (bytes[at] !== openBrace) return undefined;
    at = afterSpace(bytes, cutter.takeRecord(at));
    next = bytes[at];
    if (next === comma) at = afterSpace(bytes, at + 1);
  }
  return next === closeBracket && afterSpace(bytes, at + 1) === bytes.length ? cutter.cut : undefined;
}

/** Splits the bytes of a list into records, one after the other. */
class Cutter {
  readonly cut: Cut = { keys: [], starts: [], ends: [], isEscaped: [], secrets: new Map() };
  readonly #bytes: Buffer;
  readonly #key: Buffer;
  readonly #secrets: Names;
  /** State of the current record: whether a name has escapes, and where the value of its key begins. */
  #isEscaped = false;
  #keyAt = -1;
  /** Where a secret member begins, and its depth. */
  #secretAt = -1;
  #secretDepth = 0;

  constructor(bytes: Buffer, key: Buffer, secrets: Names) {
    this.#bytes = bytes;
    this.#key = key;
    this.#secrets = secrets;
  }

  /** @returns the position after the record that begins here; the end of all bytes if it cannot be split off */
  takeRecord(start: number): number {
    const bytes = this.#bytes;
    const { length } = bytes;
    this.#isEscaped = false;
    this.#keyAt = -1;
    this.#secretAt = -1;
    let depth = 0;
    for (let at = start; at < length; at += 1) {
      const byte = bytes[at];
      if (byte === quote) {
        at = this.#takeString(at + 1, depth);
      } else if (byte === comma) {
        this.#endMember(at, depth);
      } else if (byte === openBrace || byte === openBracket) {
        depth += 1;
      } else if (byte === closeBrace || byte === closeBracket) {
        this.#endMember(at, depth);
        depth -= 1;
        if (depth === 0) return this.#endRecord(start, at + 1);
      }
    }
    return length;
  }

  /** @returns the end of the string that begins here */
  #takeString(from: number, depth: number): number {
    const bytes = this.#bytes;
    const { length } = bytes;
    let hasEscape = false;
    let at = from;
    while (at < length && bytes[at] !== quote) {
      if (bytes[at] === backslash) {
        hasEscape = true;
        at += 1;
      }
      at += 1;
    }
    if (hasEscape) {
      if (isName(bytes, at)) this.#isEscaped = true;
      return at;
    }
    const size = at - from;
    if (depth === 1 && size === this.#key.length && isSame(bytes, from, this.#key) && isName(bytes, at)) {
      this.#keyAt = afterSpace(bytes, afterSpace(bytes, at + 1) + 1) + 1;
    }
    const names = size < this.#secrets.length ? this.#secrets[size] : undefined;
    if (names !== undefined && this.#secretAt < 0 && isAmong(bytes, from, names) && isName(bytes, at)) {
      this.#secretAt = from - 1;
      this.#secretDepth = depth;
    }
    return at;
  }

  #endMember(at: number, depth: number): void {
    if (this.#secretAt < 0 || depth !== this.#secretDepth) return;
    const { starts, secrets } = this.cut;
    const stretches = secrets.get(starts.length);
    if (stretches === undefined) secrets.set(starts.length, [[this.#secretAt, at]]);
    else stretches.push([this.#secretAt, at]);
    this.#secretAt = -1;
  }

  #endRecord(start: number, end: number): number {
    const key = this.#keyAt < 0 ? undefined : plainText(this.#bytes, this.#keyAt);
    if (key === undefined) return this.#bytes.length;
    const { keys, starts, ends, isEscaped } = this.cut;
    keys.push(key);
    starts.push(start);
    ends.push(end);
    isEscaped.push(this.#isEscaped);
    return end;
  }
}

/** Whether the string that ends here is a member name. */
function isName(bytes: Buffer, end: number): boolean {
  return bytes[afterSpace(bytes, end + 1)] === colon;
}

/** The string that begins here, if it contains no escapes. */
function plainText(bytes: Buffer, from: number): string | undefined {
  if (bytes[from - 1] !== quote) return undefined;
  let end = from;
  while (end < bytes.length && bytes[end] !== quote) {
    if (bytes[end] === backslash) return undefined;
    end += 1;
  }
  return bytes.toString("utf8", from, end);
}

function isAmong(bytes: Buffer, from: number, names: readonly Buffer[]): boolean {
  for (const name of names) if (isSame(bytes, from, name)) return true;
  return false;
}

function isSame(bytes: Buffer, from: number, name: Buffer): boolean {
  for (let i = 0; i < name.length; i += 1) if (bytes[from + i] !== name[i]) return false;
  return true;
}

/** The position of the next byte that is not white space; the end of all bytes if there is none. */
function afterSpace(bytes: Buffer, from: number): number {
  let at = from;
  while (at < bytes.length) {
    const byte = bytes[at];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) break;
    at += 1;
  }
  return at;
}

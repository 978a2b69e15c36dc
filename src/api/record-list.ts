/**
 * The records of a list as they came, as bytes: where each begins and ends, and its key. To tell that a record is as it was
 * needs no more than its bytes, and parsing a whole list costs more than all the rest of reading it. A record is parsed,
 * and only then looked at, when somebody asks for it. What is walked over here is taken for JSON, not proven to be: bytes
 * that are as those of a record that was parsed once are JSON, and others are parsed.
 */
import { PlatformError } from "#core/errors.ts";
import { withoutDepths } from "#fleet/depth.ts";

/** What a reader of records wants of them. */
export interface RecordOptions<T> {
  /** For messages. */
  readonly operation: string;
  /** The field that names a record. */
  readonly key: string;
  /** Names of members that are left out of `bytesWithoutSecrets`, wherever in a record they are. */
  readonly secrets: ReadonlySet<string>;
  /** Looks at a parsed record. @returns where its fault is, undefined where it has none */
  readonly faultIn: (record: unknown) => string | undefined;
  /** For the type alone: what a record without a fault is. */
  readonly of?: T;
}

export class RecordList<T> {
  readonly #storeDeps: RecordOptions<T>;
  readonly #bytes: Buffer;
  readonly #cut: Cut;

  private constructor(storeDeps: RecordOptions<T>, bytes: Buffer, cut: Cut) {
    this.#storeDeps = storeDeps;
    this.#bytes = bytes;
    this.#cut = cut;
  }

  /** @returns undefined where this is no list of objects that have a key, or one that only a parser can read */
  static read<T>(storeDeps: RecordOptions<T>, bytes: Buffer): RecordList<T> | undefined {
    const cut = cutRecords(bytes, Buffer.from(storeDeps.key), secretNames(storeDeps.secrets));
    return cut === undefined ? undefined : new RecordList(storeDeps, bytes, cut);
  }

  /** Of records that were parsed and have their key. */
  static of<T>(storeDeps: RecordOptions<T>, records: readonly T[]): RecordList<T> {
    const texts = records.map((record) => JSON.stringify(withoutDepths(record)));
    const cut: Cut = { keys: [], starts: [], ends: [], isEscaped: texts.map(() => true), secrets: new Map() };
    let at = 0;
    for (const [place, text] of texts.entries()) {
      cut.keys.push(String(Reflect.get(records[place] as object, storeDeps.key)));
      cut.starts.push(at);
      at += Buffer.byteLength(text);
      cut.ends.push(at);
    }
    return new RecordList(storeDeps, Buffer.from(texts.join("")), cut);
  }

  get keys(): readonly string[] {
    return this.#cut.keys;
  }

  /**
   * What tells a record from what it was: its bytes without the members that are secret.
   * @returns undefined where only a parser finds those: a name is written with escapes
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

  /** @throws PlatformError when it is no JSON or has another shape than the interface says */
  record(place: number): T {
    const text = this.#bytes.toString("utf8", this.#cut.starts[place], this.#cut.ends[place]);
    let record: unknown;
    try {
      record = JSON.parse(text);
    } catch {
      throw this.#fault("PLATFORM_UNAVAILABLE", `record ${place} of a page is no JSON`);
    }
    const fault = this.#storeDeps.faultIn(record);
    if (fault === undefined) return record as T;
    throw this.#fault("PLATFORM_CONTRACT", `record ${place} of a page is in an unexpected shape (at ${fault})`);
  }

  #fault(code: "PLATFORM_UNAVAILABLE" | "PLATFORM_CONTRACT", said: string): PlatformError {
    const { operation } = this.#storeDeps;
    return new PlatformError(code, `${operation}: ${said}. Is it the right address and deployment?`, { operation });
  }
}

/** A list, cut into its records. */
interface Cut {
  readonly keys: string[];
  /** First byte of each record, and the one after its last. */
  readonly starts: number[];
  readonly ends: number[];
  /** Whether a member's name in the record is written with escapes. */
  readonly isEscaped: boolean[];
  /** The stretches of bytes of secret members, by place. */
  readonly secrets: Map<number, [from: number, to: number][]>;
}

/** Names by their length in bytes; most strings of a record are told apart by that alone. */
type Names = readonly (readonly Buffer[] | undefined)[];

function secretNames(secrets: ReadonlySet<string>): Names {
  const names: Buffer[][] = [];
  for (const secret of secrets) {
    const name = Buffer.from(secret);
    (names[name.length] ??= []).push(name);
  }
  // Without holes: one look at a place that is not there would slow every other one down.
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

/** Cuts one record after the other out of the bytes of a list. */
class Cutter {
  readonly cut: Cut = { keys: [], starts: [], ends: [], isEscaped: [], secrets: new Map() };
  readonly #bytes: Buffer;
  readonly #key: Buffer;
  readonly #secrets: Names;
  /** Of the record at hand: whether a name in it has escapes, and where the value of its key begins. */
  #isEscaped = false;
  #keyAt = -1;
  /** Where a secret member of it begins, and how deep. */
  #secretAt = -1;
  #secretDepth = 0;

  constructor(bytes: Buffer, key: Buffer, secrets: Names) {
    this.#bytes = bytes;
    this.#key = key;
    this.#secrets = secrets;
  }

  /** @returns the place after the record that begins here; the end of all bytes where it cannot be cut out */
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

  /** @returns where the string ends that begins here */
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

/** Whether the string that ends here is the name of a member. */
function isName(bytes: Buffer, end: number): boolean {
  return bytes[afterSpace(bytes, end + 1)] === colon;
}

/** The string that begins here, where it is written without escapes. */
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

/** The place of the next byte that is no white space; the end of all bytes where there is none. */
function afterSpace(bytes: Buffer, from: number): number {
  let at = from;
  while (at < bytes.length) {
    const byte = bytes[at];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) break;
    at += 1;
  }
  return at;
}

/**
 * The inventory: the last known state of each SIM of a profile, from a complete sync or from the response to one of our
 * changes. It may be out of date, since others can change a SIM at any time. This file reads it; syncs write it through
 * sync-record.ts, runs through settle.lua.
 */
import { decodeName, encodeName } from "#fleet/sim/field-text.ts";
import { type Condition, type Filter, matches } from "#fleet/filter.ts";
import { inputTextOf, textOf } from "#fleet/sim/sim-fields.ts";
import type { KeyColumn } from "#fleet/sim/sim.ts";
import { Script } from "#redis/script.ts";
import type { StoreDeps } from "#engine/store-deps.ts";
import { type KnownSim, decodeSim } from "../records/sim-record.ts";
import { type Prefilter, codesIn, objectText, prefilter, simsPerChunk } from "../records/signature.ts";
import { type IndexedField, codesFor, columnsFor, indexedFields } from "../records/value-codes.ts";

export interface InventoryFacts {
  /** Number of listed SIMs, and of SIMs that are gone. */
  readonly known: number;
  readonly gone: number;
  /** Whether a sync has ever completed. */
  readonly isComplete: boolean;
  /** When the last completed sync began, ms by Redis's clock. */
  readonly listedAtMs: number | undefined;
  /** Fields that it stored. */
  readonly fields: readonly string[];
}

/** Which SIMs a scan includes. */
export type SimPresence = "listed" | "gone" | "all";

export interface ScanOptions {
  /** Default: in order of discovery. */
  readonly order?: "oldest-first" | "newest-first";
  /** Default: listed SIMs. */
  readonly presence?: SimPresence;
  /** First ordinal, inclusive. */
  readonly from?: number | undefined;
  /** Part of a key, or the whole of the other identifier: an IMSI where keys are SIM IDs. */
  readonly search?: string | undefined;
  /** The field that identifies a SIM; it is the key itself, and not stored with the other fields. */
  readonly keyColumn: KeyColumn;
}

export interface FoundSim {
  readonly key: string;
  readonly sim: KnownSim;
}

/** What the index knows of the SIMs of a chunk, by their place in it, before any record is read. */
export interface IndexedChunk {
  /** Ordinal of the first SIM. */
  readonly first: number;
  /** In order of discovery. */
  readonly keys: readonly string[];
  /** Whether the SIM matches filter and search. */
  readonly test: (place: number) => Prefilter;
  /** Whether the SIM is certainly listed; if not, its record has to be read. */
  readonly isListed: (place: number) => boolean;
  /** Code of the SIM in the requested column (value-codes.ts); `unknownCode` without one. */
  readonly codeAt: (place: number) => number;
}

export interface IndexOptions extends Pick<ScanOptions, "keyColumn" | "search"> {
  readonly column?: number | undefined;
  /** Whether `isListed` is needed; without it nothing is certain. */
  readonly withListed: boolean;
}

const withoutScript = Script.load(new URL("./without.lua", import.meta.url));
/** In the key order, the place of a removed SIM (take.lua). */
const forgottenKey = "-";
const digestLength = 13;
/** A digest that begins with it says nothing: the SIM is gone, or a run has changed it (take.lua). */
const unknownDigest = "!".charCodeAt(0);
const lookUpAtOnce = 1_000;
const readAtOnce = 500;

export class Inventory {
  readonly #redis: StoreDeps["redis"];
  readonly #keys: StoreDeps["keys"];

  constructor(deps: Pick<StoreDeps, "redis" | "keys">) {
    this.#redis = deps.redis;
    this.#keys = deps.keys;
  }

  async facts(profile: string): Promise<InventoryFacts> {
    const head = await this.#redis.hgetall(this.#keys.simsHead(profile));
    return {
      known: Number(head.known ?? 0),
      gone: Number(head.gone ?? 0),
      isComplete: head.settled !== undefined,
      listedAtMs: head.listedAtMs === undefined ? undefined : Number(head.listedAtMs),
      fields: (head.fields ?? "").split(",").filter(Boolean).map(decodeName),
    };
  }

  async sim(profile: string, key: string): Promise<KnownSim | undefined> {
    return (await this.lookUp(profile, [key]))[0];
  }

  /** Looks up SIMs; the result has the order of the keys. */
  async lookUp(profile: string, keys: readonly string[]): Promise<(KnownSim | undefined)[]> {
    const known: (KnownSim | undefined)[] = [];
    for (let at = 0; at < keys.length; at += lookUpAtOnce) {
      const some = keys.slice(at, at + lookUpAtOnce);
      const texts = await this.#redis.hmget(this.#keys.sims(profile), ...some);
      for (const text of texts) known.push(text === null ? undefined : decodeSim(text));
    }
    return known;
  }

  /** Yields the SIMs that a filter selects in batches, in constant memory. */
  async *scan(profile: string, filter: Filter, options: ScanOptions): AsyncGenerator<readonly FoundSim[]> {
    const named = namedKeys(filter, options.keyColumn);
    if (named !== undefined) {
      const found = await this.#read(profile, filter, named, options);
      if (found.length > 0) yield inOrder(found, options);
      return;
    }
    const columns = await columnsFor(filter.conditions, { redis: this.#redis, keys: this.#keys, profile });
    const isForward = options.order !== "newest-first";
    const end = Number((await this.#redis.hget(this.#keys.simsHead(profile), "next")) ?? 0);
    const start = Math.min(options.from ?? (isForward ? 0 : end - 1), end - 1);
    const last = Math.floor((end - 1) / simsPerChunk);
    const step = isForward ? 1 : -1;
    for (let chunk = Math.floor(start / simsPerChunk); chunk >= 0 && chunk <= last; chunk += step) {
      const candidates = await this.#candidates(profile, filter, { chunk, columns }, options);
      const keys = await this.#without(profile, filter, candidates, options);
      for (let at = 0; at < keys.length; at += readAtOnce) {
        const found = await this.#read(profile, filter, keys.slice(at, at + readAtOnce), options);
        if (found.length > 0) yield found;
      }
    }
  }

  /** Reads the index alone, chunk by chunk in order of discovery, one chunk ahead of its consumer. */
  async *index(profile: string, filter: Filter, options: IndexOptions): AsyncGenerator<IndexedChunk> {
    const columns = await columnsFor(filter.conditions, { redis: this.#redis, keys: this.#keys, profile });
    const end = Number((await this.#redis.hget(this.#keys.simsHead(profile), "next")) ?? 0);
    const read = (chunk: number) => this.#indexedChunk(profile, filter, { chunk, columns }, options);
    let coming = end > 0 ? read(0) : undefined;
    for (let chunk = 0; coming !== undefined; chunk += 1) {
      const indexed = await coming;
      coming = (chunk + 1) * simsPerChunk < end ? read(chunk + 1) : undefined;
      // An error of a chunk that nobody waits for any more is not lost work.
      coming?.catch(() => undefined);
      yield indexed;
    }
  }

  async #indexedChunk(
    profile: string,
    filter: Filter,
    { chunk, columns }: { chunk: number; columns: ReadonlyMap<string, number> },
    { keyColumn, search, column = -1, withListed }: IndexOptions,
  ): Promise<IndexedChunk> {
    const needsSignatures = filter.conditions.length > 0 || isOtherId(search) || column >= 0;
    const [order, signatures, digests] = await Promise.all([
      this.#redis.get(this.#keys.simsKeyOrder(profile, chunk)),
      needsSignatures ? this.#redis.getBuffer(this.#keys.simsSignatures(profile, chunk)) : null,
      withListed ? this.#redis.getBuffer(this.#keys.simsDigests(profile, chunk)) : null,
    ]);
    const keys = (order ?? "").split("\n");
    keys.pop(); // the empty text after the last line
    const bytes = signatures ?? Buffer.alloc(0);
    const at = { redis: this.#redis, keys: this.#keys, profile };
    const isOfKey = ({ field }: Condition): boolean => field === keyColumn;
    const conditions = filter.conditions.filter((condition) => !isOfKey(condition));
    const ofKey = { ...filter, conditions: filter.conditions.filter(isOfKey) };
    const fits = prefilter({ ...filter, conditions }, bytes, await codesFor(conditions, columns, at));
    const found = searchOf(search, keyColumn, bytes);
    return {
      first: chunk * simsPerChunk,
      keys,
      test: (place) => {
        const key = keys[place] ?? forgottenKey;
        if (key === forgottenKey || !matches(ofKey, () => key)) return "differs";
        const searched = found(key, place);
        if (searched === "differs") return searched;
        const fitting = fits(place);
        return fitting === "matches" ? searched : fitting;
      },
      isListed: (place) => digests !== null && (digests[place * digestLength] ?? unknownDigest) !== unknownDigest,
      codeAt: codesIn(bytes, column),
    };
  }

  /** The fields with a column of codes, and their values. */
  indexedFields(profile: string): Promise<IndexedField[]> {
    return indexedFields({ redis: this.#redis, keys: this.#keys, profile });
  }

  /** Reads SIMs that may match, in the order of the keys; those that do not match are left out. */
  read(profile: string, filter: Filter, keys: readonly string[], options: ScanOptions): Promise<FoundSim[]> {
    return this.#read(profile, filter, keys, options);
  }

  /** SIMs of a chunk that may match according to their signatures, in the scan's order. */
  async #candidates(
    profile: string,
    filter: Filter,
    { chunk, columns }: { chunk: number; columns: ReadonlyMap<string, number> },
    options: ScanOptions,
  ): Promise<string[]> {
    const { search, keyColumn } = options;
    const conditions = filter.conditions.filter(({ field }) => field !== keyColumn);
    const needsSignatures = conditions.length > 0 || isOtherId(search);
    const [roll, signs] = await Promise.all([
      this.#redis.get(this.#keys.simsKeyOrder(profile, chunk)),
      needsSignatures ? this.#redis.getBuffer(this.#keys.simsSignatures(profile, chunk)) : undefined,
    ]);
    if (search !== undefined && !needsSignatures && !(roll ?? "").includes(search)) return [];
    const keys = (roll ?? "").split("\n");
    keys.pop(); // the empty text after the last line
    const at = { redis: this.#redis, keys: this.#keys, profile };
    const seen = signs
      ? prefilter({ ...filter, conditions }, signs, await codesFor(conditions, columns, at))
      : undefined;
    const first = chunk * simsPerChunk;
    const found = searchOf(search, keyColumn, signs ?? Buffer.alloc(0));
    const candidates: string[] = [];
    keys.forEach((key, place) => {
      if (!isInReach(first + place, options) || seen?.(place) === "differs") return;
      if (found(key, place) !== "differs") candidates.push(key);
    });
    return options.order === "newest-first" ? candidates.toReversed() : candidates;
  }

  /** Filters by conditions that a value must be absent, which a signature cannot decide. */
  async #without(
    profile: string,
    filter: Filter,
    keys: readonly string[],
    options: ScanOptions,
  ): Promise<readonly string[]> {
    const texts = deniedTexts(filter, options.keyColumn);
    if (texts.length === 0 || keys.length === 0) return keys;
    const reply = await withoutScript.run(this.#redis, [this.#keys.sims(profile)], [texts.length, ...texts, ...keys]);
    return (reply as number[]).flatMap((place) => keys[place] ?? []);
  }

  async #read(profile: string, filter: Filter, keys: readonly string[], options: ScanOptions): Promise<FoundSim[]> {
    const { presence = "listed", keyColumn, search } = options;
    const known = await this.lookUp(profile, keys);
    return keys.flatMap((key, i): FoundSim[] => {
      const sim = known[i];
      if (sim === undefined || !isInReach(sim.ordinal, options)) return [];
      if (presence !== "all" && (sim.goneAtMs !== undefined) !== (presence === "gone")) return [];
      const valueOf = (field: string): string | undefined => (field === keyColumn ? key : fieldTextOf(sim, field));
      if (search !== undefined && !key.includes(search) && valueOf(otherIdOf(keyColumn)) !== search) return [];
      return matches(filter, valueOf) ? [{ key, sim }] : [];
    });
  }
}

function isInReach(ordinal: number, { order, from }: ScanOptions): boolean {
  if (from === undefined) return true;
  return order === "newest-first" ? ordinal <= from : ordinal >= from;
}

/** The identifier of a SIM that is not its key. */
function otherIdOf(keyColumn: KeyColumn): string {
  return keyColumn === "simId" ? "imsi" : "simId";
}

/** Whether a text may be a whole identifier: only then is it looked for beyond the keys. */
function isOtherId(search: string | undefined): boolean {
  return search !== undefined && /^\d{14,20}$/.test(search);
}

/** Tests a SIM of a chunk against a search text. */
function searchOf(
  search: string | undefined,
  keyColumn: KeyColumn,
  signatures: Buffer,
): (key: string, place: number) => Prefilter {
  if (search === undefined) return () => "matches";
  const field = otherIdOf(keyColumn);
  const condition = { kind: "equals", field, value: search } as const;
  const other = isOtherId(search)
    ? prefilter({ text: "", conditions: [condition] }, signatures, { columnOf: () => -1, codeOf: () => 0 })
    : (): Prefilter => "differs";
  return (key, place) => (key.includes(search) ? "matches" : other(place));
}

function inOrder(found: readonly FoundSim[], { order }: ScanOptions): FoundSim[] {
  const sign = order === "newest-first" ? -1 : 1;
  return found.toSorted((a, b) => sign * (a.sim.ordinal - b.sim.ordinal));
}

/** Texts that a record must not contain, from conditions that a value or a field must be absent. */
function deniedTexts({ conditions }: Filter, keyColumn: KeyColumn): string[] {
  return conditions.flatMap((condition) => {
    const line = `\n${encodeName(condition.field)}`;
    if (condition.field === keyColumn) return [];
    if (condition.kind === "absent") return ["=", ":", "."].map((mark) => line + mark);
    if (condition.kind !== "differs" || condition.value === objectText || condition.value.includes("\n")) return [];
    return ["=", ":"].map((mark) => `${line}${mark}${condition.value}\n`);
  });
}

/** SIM keys that a filter lists explicitly: they are looked up directly, whatever the size of the fleet. */
function namedKeys({ conditions }: Filter, keyColumn: KeyColumn): string[] | undefined {
  for (const condition of conditions) {
    if (condition.field !== keyColumn) continue;
    if (condition.kind === "equals") return [condition.value];
    if (condition.kind === "in") return [...new Set(condition.values)];
  }
  return undefined;
}

/** A field's value as inputs have it: for comparison with what a row asks for. */
export function fieldInputOf(sim: KnownSim | undefined, name: string): string | undefined {
  const value = sim?.fields.get(name);
  return value === undefined ? fieldTextOf(sim, name) : inputTextOf(value);
}

/** A field's value as filters see it; an object has no value of its own and exists if it has a member. */
export function fieldTextOf(sim: KnownSim | undefined, name: string): string | undefined {
  if (sim === undefined) return undefined;
  const value = sim.fields.get(name);
  if (value !== undefined) return textOf(value);
  return [...sim.fields.keys()].some((field) => field.startsWith(`${name}.`)) ? objectText : undefined;
}

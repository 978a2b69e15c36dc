/**
 * The inventory: the last known state of each SIM of a profile, from a complete sync or from the response to one of our
 * changes. It may be out of date, since others can change a SIM at any time. This file reads it; syncs write it through
 * sync-record.ts, runs through settle.lua.
 *
 * The bitmaps of the index (index.lua) select the SIMs that may match, as far as the filter is about indexed fields;
 * the records of those are read, and decide the rest.
 */
import { encodeName, decodeName } from "#fleet/sim/field-text.ts";
import {
  type Condition,
  type Expression,
  type Filter,
  conditionsIn,
  conjunctsOf,
  everySim,
  matches,
  meets,
} from "#fleet/filter.ts";
import { systemClock } from "#core/time.ts";
import { emitScriptPart } from "#events/feed.ts";
import { problemScriptPart } from "#engine/problem.ts";
import type { KeyColumn } from "#fleet/sim/sim.ts";
import { type ScriptRunner, Script } from "#redis/script.ts";
import type { StoreDeps } from "#engine/move-record.ts";
import { inventoryOf } from "#engine/sharing.ts";
import { KnownSim, fieldTextIn, isGoneIn } from "../records/sim-record.ts";
import { type InventoryKeys, inventoryKeys } from "./keys.ts";
import { usageFields, withUsage } from "./usage.ts";

export { fieldInputOf, fieldTextOf } from "../records/sim-record.ts";

export type InventoryFacts = Readonly<Awaited<ReturnType<Inventory["facts"]>>>;

/** Presence of the SIMs that a scan includes. */
export type SimPresence = "listed" | "gone" | "all";

export interface ScanOptions {
  /** Default: in the order in which they were added. */
  readonly order?: "oldest-first" | "newest-first";
  /** Default: listed SIMs. */
  readonly presence?: SimPresence;
  /** First ordinal, inclusive. */
  readonly from?: number | undefined;
  /** Part of a key, or the whole of the other identifier: an IMSI where keys are SIM IDs. */
  readonly search?: string | undefined;
  /** The field that identifies a SIM; it is the key itself, and not stored with the other fields. */
  readonly keyColumn: KeyColumn;
  /** Instant from which ages in the filter count, ms since the epoch. Default: now. */
  readonly nowMs?: number;
}

export interface FoundSim {
  readonly key: string;
  readonly sim: KnownSim;
}

/** A SIM that a filter selects, or may select, by its place in the order in which SIMs were added. */
export interface FoundKey {
  readonly key: string;
  readonly ordinal: number;
}

/** Lua parts that precede a script that writes to the inventory. */
export const inventoryScriptParts: readonly URL[] = [
  emitScriptPart,
  new URL("./index.lua", import.meta.url),
  new URL("./take.lua", import.meta.url),
  problemScriptPart,
];

/** Loads a script of this folder together with its parts. */
export function inventoryScript(name: string): Script {
  return Script.load(...inventoryScriptParts, new URL(`./${name}`, import.meta.url));
}

/** SIMs whose keys are in one string of the key order; take.lua knows it as well. */
export const simsPerChunk = 4_096;

const imsiScript = Script.load(new URL("./read-imsis.lua", import.meta.url));
const readScript = Script.load(new URL("./index.lua", import.meta.url), new URL("./read-bitmaps.lua", import.meta.url));
/** In the key order, the place of a removed SIM (take.lua). */
const forgottenKey = "-";
const lookUpAtOnce = 1_000;
const readAtOnce = 500;

export class Inventory {
  readonly #deps: Pick<StoreDeps, "redis" | "keys">;
  readonly #keys: InventoryKeys;

  constructor(deps: Pick<StoreDeps, "redis" | "keys">) {
    this.#deps = deps;
    this.#keys = inventoryKeys(deps.keys);
  }

  #name(profile: string): Promise<string> {
    return inventoryOf(this.#deps, profile);
  }

  /** Whether SIMs, or locks on them, are stored in an inventory. */
  async isKept(name: string): Promise<boolean> {
    return (await this.#deps.redis.exists(this.#keys.head(name), this.#keys.locks(name))) > 0;
  }

  async facts(profile: string) {
    const head = await this.#deps.redis.hgetall(this.#keys.head(await this.#name(profile)));
    return {
      /** Number of listed SIMs, and of SIMs that are gone. */
      known: Number(head.known ?? 0),
      gone: Number(head.gone ?? 0),
      /** Whether a sync has ever completed. */
      isComplete: head.settled !== undefined,
      /** When the last completed sync started, ms by Redis's clock. */
      listedAtMs: head.listedAtMs === undefined ? undefined : Number(head.listedAtMs),
      fields: [
        ...(head.fields ?? "").split(",").filter(Boolean).map(decodeName),
        ...(head.usage === undefined ? [] : usageFields),
      ],
    };
  }

  async sim(profile: string, key: string): Promise<KnownSim | undefined> {
    return (await this.lookUp(profile, [key]))[0];
  }

  /** Looks up SIMs; the result has the order of the keys. */
  async lookUp(profile: string, keys: readonly string[]): Promise<(KnownSim | undefined)[]> {
    const known: (KnownSim | undefined)[] = [];
    const name = await this.#name(profile);
    for (let at = 0; at < keys.length; at += lookUpAtOnce) {
      const texts = await withUsage(this.#deps, name, keys.slice(at, at + lookUpAtOnce));
      for (const text of texts) known.push(text === null ? undefined : new KnownSim(text));
    }
    return known;
  }

  /** Yields the SIMs that a filter selects in batches, in constant memory. */
  async *scan(profile: string, filter: Filter, options: ScanOptions): AsyncGenerator<readonly FoundSim[]> {
    const at = { nowMs: systemClock.wallMs(), ...options };
    const { candidates } = await this.#candidates(profile, filter, at);
    for await (const found of oneAhead(candidates, (some) => this.read(profile, filter, some, at))) {
      if (found.length > 0) yield found;
    }
  }

  /**
   * As `scan`, but reads records only for conditions that the index cannot decide. A batch may be empty, so that the
   * caller can stop where nothing matches.
   */
  async *find(profile: string, filter: Filter, options: ScanOptions): AsyncGenerator<readonly FoundKey[]> {
    const at = { nowMs: systemClock.wallMs(), ...options };
    const { candidates, isExact } = await this.#candidates(profile, filter, at);
    if (isExact) yield* candidates;
    else {
      for await (const found of oneAhead(candidates, (some) => this.read(profile, filter, some, at))) {
        yield found.map(({ key, sim }) => ({ key, ordinal: sim.ordinal }));
      }
    }
  }

  /** Yields the ordinal and the IMSI of every SIM, including those that are gone; '' for none. */
  async *imsis(profile: string, keyColumn: KeyColumn): AsyncGenerator<readonly [number, string][]> {
    const stored = this.#keys.records(await this.#name(profile));
    for await (const found of this.find(profile, everySim, { presence: "all", keyColumn })) {
      const keys = found.map(({ key }) => key);
      const imsis = keyColumn === "imsi" ? keys : await imsiScript.run(this.#deps.redis, [stored], keys);
      yield found.map(({ ordinal }, nth) => [ordinal, (imsis as string[])[nth] ?? ""]);
    }
  }

  /**
   * Counts the SIMs that a filter selects, by the values of a field if one is given (null: no value).
   * @returns undefined if records have to be read
   */
  async counts(
    profile: string,
    filter: Filter,
    { field, ...options }: Omit<ScanOptions, "from" | "order"> & { field?: string | undefined },
  ) {
    const { search, keyColumn } = options;
    if (search !== undefined || field === keyColumn) return undefined;
    const by: readonly Condition[] = field === undefined ? [] : [{ kind: "exists", field, values: [] }];
    const at = { nowMs: systemClock.wallMs(), ...options };
    const { found, bitmaps } = await this.#select(profile, conjunctsOf(filter), at, by);
    if ([...bitmaps.values()].includes(undefined)) return undefined;
    const total = countBits(found);
    const values = new Map<string | null, number>();
    let others = total;
    for (const [value, bitmap] of (field === undefined ? undefined : bitmaps.get(field)) ?? []) {
      const count = countBits(found, bitmap);
      if (count > 0) values.set(value, (values.get(value) ?? 0) + count);
      others -= count;
    }
    if (field !== undefined && others > 0) values.set(null, others);
    return { total, values };
  }

  /** The indexed fields, in alphabetical order, and their values: each has a bitmap. */
  async indexedFields(profile: string) {
    const fields = new Map<string, Set<string>>();
    for (const item of await this.#deps.redis.hkeys(this.#keys.index(await this.#name(profile)))) {
      const at = item.search(/[=:]/);
      const value = item.slice(at + 1);
      // An object has no value that could be chosen.
      if (at < 0 || value === "{}") continue;
      const field = decodeName(item.slice(0, at));
      fields.set(field, (fields.get(field) ?? new Set()).add(value));
    }
    return [...fields].map(([field, values]) => ({ field, values })).toSorted((a, b) => (a.field < b.field ? -1 : 1));
  }

  /** Reads SIMs that may match, in the order of the keys; those that do not match are left out. */
  async read(profile: string, filter: Filter, candidates: readonly Pick<FoundKey, "key">[], options: ScanOptions) {
    if (candidates.length === 0) return [];
    const { presence = "listed", keyColumn, search, nowMs = systemClock.wallMs() } = options;
    const otherId = keyColumn === "simId" ? "imsi" : "simId";
    const keys = candidates.map(({ key }) => key);
    const texts = await withUsage(this.#deps, await this.#name(profile), keys);
    return candidates.flatMap(({ key }, i): FoundSim[] => {
      const text = texts[i];
      if (typeof text !== "string") return [];
      if (presence !== "all" && isGoneIn(text) !== (presence === "gone")) return [];
      const valueOf = (field: string): string | undefined => (field === keyColumn ? key : fieldTextIn(text, field));
      if (search !== undefined && !key.includes(search) && valueOf(otherId) !== search) return [];
      if (!matches(filter, valueOf, nowMs)) return [];
      const sim = new KnownSim(text);
      return isInReach(sim.ordinal, options) ? [{ key, sim }] : [];
    });
  }

  /** SIMs that may match, in the scan's order; `isExact`: all of them do. */
  async #candidates(profile: string, filter: Filter, options: Evaluation) {
    const { search, keyColumn } = options;
    const named = namedKeys(filter.expression, keyColumn);
    if (named !== undefined) return { candidates: this.#named(profile, named, options), isExact: false };
    const conjuncts = conjunctsOf(filter);
    const isOfKey = (one: Expression): boolean => conditionsIn(one).every(({ field }) => field === keyColumn);
    const ofKey: Expression = { kind: "and", parts: conjuncts.filter(isOfKey) };
    const others = conjuncts.filter((one) => !isOfKey(one));
    const { found, bitmaps } = await this.#select(profile, others, options);
    return {
      candidates: this.#selected(profile, ofKey, options, found),
      isExact: ![...bitmaps.values()].includes(undefined) && !isOtherId(search),
    };
  }

  /** The named SIMs, in the scan's order. */
  async *#named(profile: string, keys: readonly string[], { order }: ScanOptions): AsyncGenerator<readonly FoundKey[]> {
    const known = await this.lookUp(profile, keys);
    const found = keys.flatMap((key, i) => (known[i] ? [{ key, ordinal: known[i].ordinal }] : []));
    const sign = order === "newest-first" ? -1 : 1;
    const sorted = found.toSorted((a, b) => sign * (a.ordinal - b.ordinal));
    for (let at = 0; at < sorted.length; at += readAtOnce) yield sorted.slice(at, at + readAtOnce);
  }

  async *#selected(profile: string, ofKey: Expression, options: Evaluation, bits: Buffer) {
    const { order: direction, search, nowMs } = options;
    const isSearched = (key: string): boolean => search === undefined || isOtherId(search) || key.includes(search);
    const chunks = Math.ceil((bits.length * 8) / simsPerChunk);
    for (let nth = 0; nth < chunks; nth += 1) {
      const chunk = direction === "newest-first" ? chunks - 1 - nth : nth;
      const first = chunk * simsPerChunk;
      const ordinals = ordinalsIn(bits, first).filter((ordinal) => isInReach(ordinal, options));
      if (ordinals.length === 0) continue;
      const order = this.#keys.keyOrder(await this.#name(profile), chunk);
      const keys = ((await this.#deps.redis.get(order)) ?? "").split("\n");
      const found = ordinals
        .map((ordinal) => ({ ordinal, key: keys[ordinal - first] ?? forgottenKey }))
        .filter(
          ({ key }) => key !== forgottenKey && isSearched(key) && matches({ expression: ofKey }, () => key, nowMs),
        );
      if (direction === "newest-first") found.reverse();
      for (let at = 0; at === 0 || at < found.length; at += readAtOnce) yield found.slice(at, at + readAtOnce);
    }
  }

  /**
   * Combines the bitmaps of the values that the conditions are about.
   * @param by conditions whose bitmaps are only read
   * @returns `found`: the SIMs that may match, and do if all fields are indexed; `bitmaps`: those of each field,
   *   undefined if it is not indexed
   */
  async #select(
    profile: string,
    parts: readonly Expression[],
    { presence = "listed", keyColumn, nowMs }: Evaluation,
    by: readonly Condition[] = [],
  ): Promise<{ found: Buffer; bitmaps: ReadonlyMap<string, readonly Bitmap[] | undefined> }> {
    const inBytes: ScriptRunner = {
      evalsha: (...call) => this.#deps.redis.callBuffer("EVALSHA", ...call),
      eval: (...call) => this.#deps.redis.callBuffer("EVAL", ...call),
    };
    const name = await this.#name(profile);
    const keys = [this.#keys.index(name), this.#keys.bitmaps(name)];
    const fields = Map.groupBy([...parts.flatMap(conditionsIn), ...by], ({ field }) => field);
    const named = [...fields].flatMap(([field, conditions]) => {
      const values = findValues(conditions);
      return [encodeName(field), values?.length ?? "*", ...(values ?? [])];
    });
    const reply = await readScript.run(inBytes, keys, [presence, ...named]);
    const [present, read] = reply as [Buffer[], ([value: Buffer, bitmap: Buffer][] | number)[]];
    const bitmaps = new Map<string, readonly Bitmap[] | undefined>();
    for (const [n, field] of [...fields.keys()].entries()) {
      const pairs = read[n];
      // The index has no keys.
      const isIndexed = Array.isArray(pairs) && field !== keyColumn;
      bitmaps.set(field, isIndexed ? pairs.map(([value, bitmap]) => [String(value), bitmap]) : undefined);
    }
    return { found: selectedBy({ kind: "and", parts }, { present: union(present), bitmaps, nowMs }), bitmaps };
  }
}

type Evaluation = ScanOptions & { readonly nowMs: number };
/** A value of a field, and the SIMs that have it. */
type Bitmap = readonly [value: string, bits: Buffer];

/** The only values whose bitmaps decide the conditions; undefined: those of all values do. */
function findValues(conditions: readonly Condition[]): readonly string[] | undefined {
  const values = conditions.map((one) => (["=", "!=", "in"].includes(one.kind) ? one.values : undefined));
  return values.includes(undefined) ? undefined : [...new Set(values.flatMap((some) => some ?? []))];
}

/** The SIMs that may match, as far as the indexed fields tell. */
function selectedBy(
  expression: Expression,
  of: { present: Buffer; bitmaps: ReadonlyMap<string, readonly Bitmap[] | undefined>; nowMs: number },
): Buffer {
  const { present, bitmaps, nowMs } = of;
  // Negated at its conditions: all that may match a negation is not the complement of all that may match.
  const select = (one: Expression, isNegated: boolean): Buffer => {
    if (one.kind === "not") return select(one.part, !isNegated);
    if ("parts" in one) {
      const isEach = (one.kind === "and") !== isNegated;
      const found = isEach ? Buffer.from(present) : Buffer.alloc(present.length);
      for (const some of one.parts.map((part) => select(part, isNegated))) {
        if (isEach) for (let at = 0; at < found.length; at += 1) found[at] = (found[at] ?? 0) & (some[at] ?? 0);
        else for (let at = 0; at < found.length; at += 1) found[at] = (found[at] ?? 0) | (some[at] ?? 0);
      }
      return found;
    }
    const ofField = bitmaps.get(one.field);
    if (ofField === undefined) return present;
    const doOthers = meets(one, undefined, nowMs);
    const some = union(ofField.filter(([value]) => meets(one, value, nowMs) !== doOthers).map(([, bits]) => bits));
    const inverted = doOthers === isNegated ? 0 : 255;
    const found = Buffer.alloc(present.length);
    for (let at = 0; at < found.length; at += 1) found[at] = (present[at] ?? 0) & ((some[at] ?? 0) ^ inverted);
    return found;
  };
  return select(expression, false);
}

// Bitmaps have the first ordinal in the highest bit of the first byte.

function union(bitmaps: readonly Buffer[]): Buffer {
  const all = Buffer.alloc(Math.max(0, ...bitmaps.map(({ length }) => length)));
  for (const bitmap of bitmaps) {
    for (let at = 0; at < bitmap.length; at += 1) all[at] = (all[at] ?? 0) | (bitmap[at] ?? 0);
  }
  return all;
}

/** Number of bits that are set, in both bitmaps if there are two. */
function countBits(bitmap: Buffer, other = bitmap): number {
  let count = 0;
  for (let at = 0; at < bitmap.length; at += 1) {
    for (let byte = (bitmap[at] ?? 0) & (other[at] ?? 0); byte !== 0; byte &= byte - 1) count += 1;
  }
  return count;
}

/** The ordinals of one chunk whose bits are set, in order. */
function ordinalsIn(bits: Buffer, first: number): number[] {
  const ordinals: number[] = [];
  const end = Math.min((first + simsPerChunk) / 8, bits.length);
  for (let at = first / 8; at < end; at += 1) {
    const byte = bits[at] ?? 0;
    if (byte === 0) continue;
    for (let place = 0; place < 8; place += 1) if ((byte & (128 >> place)) !== 0) ordinals.push(at * 8 + place);
  }
  return ordinals;
}

/** Maps items one ahead of the consumer, so that Redis answers while the item before is processed. */
async function* oneAhead<A, B>(items: AsyncGenerator<A>, map: (item: A) => Promise<B>): AsyncGenerator<B> {
  let coming: Promise<B> | undefined;
  for await (const item of items) {
    const next = map(item);
    // If the consumer has stopped, nobody waits for it.
    next.catch(() => undefined);
    if (coming !== undefined) yield await coming;
    coming = next;
  }
  if (coming !== undefined) yield await coming;
}

function isInReach(ordinal: number, { order, from }: ScanOptions): boolean {
  if (from === undefined) return true;
  return order === "newest-first" ? ordinal <= from : ordinal >= from;
}

/** Whether a text may be a whole identifier: only then is it looked for beyond the keys. */
function isOtherId(search: string | undefined): boolean {
  return search !== undefined && /^\d{14,20}$/.test(search);
}

/** SIM keys that a filter lists explicitly: they are looked up directly, whatever the size of the fleet. */
function namedKeys(one: Expression, keyColumn: KeyColumn): readonly string[] | undefined {
  if ("parts" in one) {
    const named = one.parts.map((part) => namedKeys(part, keyColumn));
    if (one.kind === "and") return named.find((keys) => keys !== undefined);
    return named.includes(undefined) ? undefined : [...new Set(named.flatMap((keys) => keys ?? []))];
  }
  const isNamed = (one.kind === "in" || one.kind === "=") && one.field === keyColumn;
  return isNamed ? [...new Set(one.values)] : undefined;
}

// Removes SIMs from the inventory that no sync has listed for long.

const forgetScript = inventoryScript("forget-gone.lua");

/**
 * @param options `beforeMs`: SIMs that went before this instant, ms since the epoch
 * @returns how many were removed
 */
export async function forgetGoneSims(
  profile: string,
  options: { readonly beforeMs: number; readonly keyColumn: KeyColumn },
  { inventory, redis, keys, bounds }: StoreDeps & { readonly inventory: Inventory },
): Promise<number> {
  const { beforeMs, keyColumn } = options;
  const name = await inventoryOf({ redis, keys }, profile);
  let removed = 0;
  for await (const found of inventory.scan(profile, everySim, { presence: "gone", keyColumn })) {
    const old = found.filter(({ sim }) => (sim.goneAtMs ?? beforeMs) < beforeMs);
    for (const [chunk, sims] of Map.groupBy(old, ({ sim }) => Math.floor(sim.ordinal / simsPerChunk))) {
      const args = [profile, bounds.maxEvents, chunk, beforeMs, ...sims.map(({ key }) => key)];
      removed += Number(await forgetScript.run(redis, inventoryKeys(keys).ofScripts(name), args));
    }
  }
  return removed;
}

/**
 * The inventory: the last known state of each SIM of a profile, from a complete sync or from the response to one of our
 * changes. It may be out of date, since others can change a SIM at any time. This file reads it; syncs write it through
 * sync-record.ts, runs through settle.lua.
 */
import { decodeName, encodeName } from "#fleet/sim/field-text.ts";
import { type Filter, matches } from "#fleet/filter.ts";
import { inputTextOf, textOf } from "#fleet/sim/sim-fields.ts";
import type { KeyColumn } from "#fleet/sim/sim.ts";
import { Script } from "#redis/script.ts";
import type { StoreDeps } from "#engine/store-deps.ts";
import { type KnownSim, decodeSim } from "../records/sim-record.ts";
import { objectText, prefilter, simsPerChunk } from "../records/signature.ts";
import { codesFor, columnsFor } from "../records/value-codes.ts";

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
  /** The field that identifies a SIM; it is the key itself, and not stored with the other fields. */
  readonly keyColumn: KeyColumn;
}

export interface FoundSim {
  readonly key: string;
  readonly sim: KnownSim;
}

const withoutScript = Script.load(new URL("./without.lua", import.meta.url));
const lookUpAtOnce = 1_000;
const readAtOnce = 500;

export class Inventory {
  readonly #redis: StoreDeps["redis"];
  readonly #keys: StoreDeps["keys"];

  constructor(storeDeps: Pick<StoreDeps, "redis" | "keys">) {
    this.#redis = storeDeps.redis;
    this.#keys = storeDeps.keys;
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

  /** SIMs of a chunk that may match according to their signatures, in the scan's order. */
  async #candidates(
    profile: string,
    filter: Filter,
    { chunk, columns }: { chunk: number; columns: ReadonlyMap<string, number> },
    options: ScanOptions,
  ): Promise<string[]> {
    const conditions = filter.conditions.filter(({ field }) => field !== options.keyColumn);
    const [roll, signs] = await Promise.all([
      this.#redis.get(this.#keys.simsKeyOrder(profile, chunk)),
      conditions.length === 0 ? undefined : this.#redis.getBuffer(this.#keys.simsSignatures(profile, chunk)),
    ]);
    const keys = (roll ?? "").split("\n");
    keys.pop(); // the empty text after the last line
    const at = { redis: this.#redis, keys: this.#keys, profile };
    const seen = signs
      ? prefilter({ ...filter, conditions }, signs, await codesFor(conditions, columns, at))
      : undefined;
    const first = chunk * simsPerChunk;
    const candidates: string[] = [];
    keys.forEach((key, place) => {
      if (isInReach(first + place, options) && seen?.(place) !== "differs") candidates.push(key);
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
    const { presence = "listed", keyColumn } = options;
    const known = await this.lookUp(profile, keys);
    return keys.flatMap((key, i): FoundSim[] => {
      const sim = known[i];
      if (sim === undefined || !isInReach(sim.ordinal, options)) return [];
      if (presence !== "all" && (sim.goneAtMs !== undefined) !== (presence === "gone")) return [];
      const valueOf = (field: string): string | undefined => (field === keyColumn ? key : fieldTextOf(sim, field));
      return matches(filter, valueOf) ? [{ key, sim }] : [];
    });
  }
}

function isInReach(ordinal: number, { order, from }: ScanOptions): boolean {
  if (from === undefined) return true;
  return order === "newest-first" ? ordinal <= from : ordinal >= from;
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

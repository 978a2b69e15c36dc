/**
 * Short codes for the values of fields that have few: a dictionary for each profile that only grows, so that a code means
 * one value for good. A value gets its code when a sync has seen it; a SIM that was written before, or by a run, has the
 * code of "not known", and is looked at in another way until a sync writes it anew.
 */
import type { Redis } from "ioredis";
import type { Condition } from "#fleet/filter.ts";
import type { Keys } from "#redis/keys.ts";
import { Script } from "#redis/script.ts";

/** The fields that have codes, in the order of their columns in a signature. */
export const codedFields = ["speedClass", "status", "groupId", "subscription"] as const;

export const unknownCode = 0;
export const absentCode = 1;

/** The code of a field's value; `unknownCode` where it has none. */
export type CodeLookup = (field: string, value: string) => number;

const mostRemembered = 4_096;

const registerScript = Script.load(new URL("./register-values.lua", import.meta.url));

/** A field with a value, as the dictionary has it. */
function itemOf(field: string, value: string): string {
  return `${field}=${value}`;
}

/** The dictionary as one sync uses it: what it lacks is gathered, and added between pages. */
export class ValueCodes {
  readonly #redis: Redis;
  readonly #key: string;
  readonly #codes: Map<string, number>;
  /** The same by field and value, of what was asked for: to put the two together costs more than to look twice. */
  readonly #found = new Map<string, Map<string, number>>();
  readonly #missing = new Set<string>();

  private constructor(redis: Redis, key: string, codes: Map<string, number>) {
    this.#redis = redis;
    this.#key = key;
    this.#codes = codes;
  }

  static async load(redis: Redis, keys: Keys, profile: string): Promise<ValueCodes> {
    const key = keys.simsCodes(profile);
    const entries = Object.entries(await redis.hgetall(key));
    return new ValueCodes(redis, key, new Map(entries.map(([item, code]) => [item, Number(code)])));
  }

  readonly lookUp: CodeLookup = (field, value) => {
    const found = this.#found.get(field)?.get(value);
    if (found !== undefined) return found;
    const item = itemOf(field, value);
    const code = this.#codes.get(item);
    if (code === undefined) this.#missing.add(item);
    else this.#remember(field, value, code);
    return code ?? unknownCode;
  };

  #remember(field: string, value: string, code: number): void {
    const ofField = this.#found.get(field);
    if (ofField === undefined) this.#found.set(field, new Map([[value, code]]));
    else if (ofField.size < mostRemembered) ofField.set(value, code);
  }

  /** Adds what was asked for and was not there. A full dictionary takes no more: those values stay without a code. */
  async register(): Promise<void> {
    if (this.#missing.size === 0) return;
    const items = [...this.#missing];
    this.#missing.clear();
    const codes = (await registerScript.run(this.#redis, [this.#key], items)) as number[];
    for (const [at, item] of items.entries()) this.#codes.set(item, codes[at] ?? unknownCode);
  }
}

/** The codes that a filter needs. */
export async function codesFor(
  conditions: readonly Condition[],
  place: { redis: Redis; keys: Keys; profile: string },
): Promise<CodeLookup> {
  const items = conditions.flatMap((condition) => {
    if (!codedFields.some((field) => field === condition.field)) return [];
    if (condition.kind === "in") return condition.values.map((value) => itemOf(condition.field, value));
    return "value" in condition ? [itemOf(condition.field, condition.value)] : [];
  });
  if (items.length === 0) return () => unknownCode;
  const codes = await place.redis.hmget(place.keys.simsCodes(place.profile), ...items);
  const known = new Map(items.map((item, at) => [item, Number(codes[at] ?? unknownCode)]));
  return (field, value) => known.get(itemOf(field, value)) ?? unknownCode;
}

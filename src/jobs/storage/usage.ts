/** How much of Redis's memory each kind of data uses. The kind follows from the key's first word after the common prefix. */
import type { StoreDeps } from "#engine/store-deps.ts";
import { Script } from "#redis/script.ts";
import type { StoragePart } from "./contract.ts";

type Deps = Pick<StoreDeps, "redis" | "keys">;

const measureScript = Script.load(new URL("./measure-keys.lua", import.meta.url));
const keysAtOnce = 500;
/** Members of a list, set or hash that Redis measures to estimate the rest. */
const samples = 20;

/** What a feature stores. */
export interface DataOfFeature {
  /** First words of keys whose second is a profile: they are removed with the profile. */
  readonly profileData?: readonly string[];
  /** By kind of data, the first words of its keys. */
  readonly data?: Readonly<Record<string, readonly string[]>>;
}

/** The kinds of what the engine stores. */
const engineData = { queues: ["queue", "queues", "workers", "work"] } as const;

/** Bytes and keys of each kind of data, the largest first. @param features declare the first words of their keys */
export async function storageParts(deps: Deps, features: readonly DataOfFeature[]): Promise<StoragePart[]> {
  const kinds = new Map(
    [{ data: engineData }, ...features].flatMap(({ data = {} }) =>
      Object.entries(data).flatMap(([kind, words]) => words.map((word) => [word, kind] as const)),
    ),
  );
  const parts = new Map<string, { bytes: number; keys: number }>();
  for await (const { key, bytes } of keysLike("", deps)) {
    const [, word = ""] = key.slice(deps.keys.prefix.length).split(":", 2);
    const part = kinds.get(word) ?? word;
    const sum = parts.get(part) ?? { bytes: 0, keys: 0 };
    parts.set(part, { bytes: sum.bytes + bytes, keys: sum.keys + 1 });
  }
  return [...parts].map(([part, sum]) => ({ part, ...sum })).toSorted((a, b) => b.bytes - a.bytes);
}

/** Each key that begins with the common prefix and `start`, at least once, with its memory. */
export async function* keysLike(
  start: string,
  { redis, keys }: Deps,
): AsyncGenerator<{ readonly key: string; readonly bytes: number }> {
  const pattern = `${keys.prefix.replaceAll(/[[\]*?\\]/g, "\\$&")}:${start}*`;
  let cursor = "0";
  do {
    const reply = await measureScript.run(redis, [keys.runs()], [cursor, pattern, keysAtOnce, samples]);
    const [next, ...found] = reply as [string, ...(string | number)[]];
    for (let at = 0; at < found.length; at += 2) yield { key: String(found[at]), bytes: Number(found[at + 1]) };
    cursor = next;
  } while (cursor !== "0");
}

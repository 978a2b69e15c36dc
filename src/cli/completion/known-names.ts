/**
 * Names that completion offers besides commands and options: runs, profiles, operations. Commands that learn them keep them
 * in `~/.cache/simfleet/names.json`, so that a completion opens no Redis and calls no worker. Each place has its own: a
 * working folder with the configuration, the worker and the data directory that were chosen there. Names that are out of
 * date cost nothing: the command rejects them. Where the file cannot be used, nothing is completed.
 */
import { createHash } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { readFileOnce } from "#core/files/open-file.ts";
import { replaceFile } from "#core/files/write-file.ts";

export interface KnownNames {
  /** The newest first. */
  readonly runs: readonly string[];
  readonly profiles: readonly string[];
  readonly operations: readonly string[];
}

const nothing: KnownNames = { runs: [], profiles: [], operations: [] };
const mostPlaces = 20;
const mostRuns = 100;
const mostBytes = 1_048_576;
/** What no shell gives a meaning. */
const plain = /^[\w.:-]{1,100}$/;

/** What decides which names there are. */
export interface Place {
  readonly env: NodeJS.ProcessEnv;
  readonly config?: string | undefined;
  readonly server?: string | undefined;
}

export function knownNames(place: Place): KnownNames {
  return read(place.env).find(([key]) => key === keyOf(place))?.[1] ?? nothing;
}

/** Keeps names for completion. Runs are added to those of before, profiles and operations replace them. */
export async function rememberNames(place: Place, names: Partial<KnownNames>): Promise<void> {
  const path = pathOf(place.env);
  if (path === undefined) return;
  const key = keyOf(place);
  const places = read(place.env);
  const before = places.find(([one]) => one === key)?.[1] ?? nothing;
  const runs = [...new Set([...(names.runs ?? []), ...before.runs])].toSorted().toReversed().slice(0, mostRuns);
  const after = { ...before, ...names, runs };
  if (JSON.stringify(after) === JSON.stringify(before)) return;
  const kept = [[key, after], ...places.filter(([one]) => one !== key)].slice(0, mostPlaces);
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await replaceFile(path, JSON.stringify(kept), { mode: 0o600 });
  } catch {
    // A read-only home folder: the command itself succeeds all the same.
  }
}

type Places = readonly (readonly [string, KnownNames])[];

function read(env: NodeJS.ProcessEnv): Places {
  const path = pathOf(env);
  if (path === undefined) return [];
  try {
    const { bytes } = readFileOnce(path, { links: "refuse", mostBytes, access: "private" });
    return (JSON.parse(bytes.toString()) as Places).map(([key, { runs, profiles, operations }]) => [
      key,
      { runs: plainOf(runs), profiles: plainOf(profiles), operations: plainOf(operations) },
    ]);
  } catch {
    return [];
  }
}

function plainOf(names: readonly string[]): readonly string[] {
  return names.filter((name) => plain.test(name));
}

function pathOf({ XDG_CACHE_HOME, HOME }: NodeJS.ProcessEnv): string | undefined {
  const base = XDG_CACHE_HOME || (HOME && join(HOME, ".cache"));
  return base ? join(base, "simfleet", "names.json") : undefined;
}

function keyOf({ env, config = env["SIMFLEET_CONFIG"], server = env["SIMFLEET_SERVER"] }: Place): string {
  const parts = [process.cwd(), config ?? "", server ?? "", env["SIMFLEET_DATA_DIR"] ?? ""];
  return createHash("sha256").update(parts.join("\0")).digest("hex").slice(0, 16);
}

/**
 * The command line as installed: dist/, rebuilt if the sources are newer. Test files run in several processes, so one
 * of them builds and the others wait for it. All work with one copy, which a later build cannot remove while processes
 * run from it, and with one cache of compiled code, since they start it many times.
 */
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, globSync, mkdirSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { inject } from "vitest";

export const root = fileURLToPath(new URL("../../../", import.meta.url));
const entry = join(root, "dist", "cli.js");
const lock = join(root, "node_modules", ".build-lock");
const longestBuildMs = 60_000;

export interface BuiltCli {
  /** Path of a cli.js that was no older than src/ when the first test asked for it. */
  readonly path: string;
  /** For NODE_COMPILE_CACHE. */
  readonly compileCache: string;
}

let built: Promise<BuiltCli> | undefined;

/** The same for all tests of a run. */
export function builtCli(): Promise<BuiltCli> {
  built ??= madeOnce(inject("builtCopy"), (place) => {
    if (isStale()) build();
    for (const part of ["package.json", "dist", "config"]) {
      cpSync(join(root, part), join(place, part), { recursive: true, preserveTimestamps: true });
    }
  }).then((place) => ({ path: join(place, "dist", "cli.js"), compileCache: join(place, "compiled") }));
  return built;
}

/** Has one of the processes of the tests make a folder, and the others wait for it. @returns the folder */
export async function madeOnce(place: string, make: (unfinished: string) => void | Promise<void>): Promise<string> {
  const endMs = performance.now() + longestBuildMs;
  while (!existsSync(place)) {
    if (takeLock()) {
      try {
        if (existsSync(place)) break;
        await make(`${place}.new`);
        // In one step, so that no other process sees a part of it.
        renameSync(`${place}.new`, place);
      } finally {
        rmSync(lock, { recursive: true, force: true });
      }
    }
    if (performance.now() > endMs) throw new Error(`${place} was not made by its lock's holder; remove ${lock}`);
    await sleep(100);
  }
  return place;
}

function isStale(): boolean {
  const builtMs = statSync(entry, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const sources = globSync(["src/**/*.{ts,lua,sh}", "web/**/*.{ts,tsx,css,html,svg}"], { cwd: root });
  return sources.some((source) => (statSync(join(root, source), { throwIfNoEntry: false })?.mtimeMs ?? 0) > builtMs);
}

/** A lock whose holder was killed is free. */
function takeLock(): boolean {
  const held = statSync(lock, { throwIfNoEntry: false });
  if (held !== undefined && Date.now() - held.mtimeMs > longestBuildMs) rmSync(lock, { recursive: true, force: true });
  try {
    mkdirSync(lock);
    return true;
  } catch {
    return false;
  }
}

function build(): void {
  const run = spawnSync(process.execPath, [join(root, "scripts", "build.mjs")], { cwd: root, encoding: "utf8" });
  if (run.status !== 0) throw new Error(`dist/ could not be built:\n${run.stdout}${run.stderr}`);
}

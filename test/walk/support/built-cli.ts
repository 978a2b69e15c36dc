/**
 * The command line as installed: dist/, rebuilt if the sources are newer. Test files run in several processes, so one
 * of them builds and the others wait for it; each then works with a copy, which a later build cannot remove while its
 * processes run.
 */
import { spawnSync } from "node:child_process";
import { cpSync, globSync, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll } from "vitest";

export const root = fileURLToPath(new URL("../../../", import.meta.url));
const built = join(root, "dist", "cli.js");
const lock = join(root, "node_modules", ".walk-build-lock");
const longestBuildMs = 60_000;

let copy: Promise<string> | undefined;
const places: string[] = [];
afterAll(() => {
  for (const place of places) rmSync(place, { recursive: true, force: true });
});

/** Path of a cli.js that is no older than src/, the same for all tests of a file. */
export function builtCli(): Promise<string> {
  copy ??= whenBuilt().then(copied);
  return copy;
}

function copied(): string {
  // Inside node_modules, so that it finds the same packages.
  const place = mkdtempSync(join(root, "node_modules", ".walk-"));
  places.push(place);
  for (const part of ["package.json", "dist", "config"]) {
    cpSync(join(root, part), join(place, part), { recursive: true, preserveTimestamps: true });
  }
  return join(place, "dist", "cli.js");
}

async function whenBuilt(): Promise<void> {
  const endMs = performance.now() + longestBuildMs;
  while (isStale()) {
    if (takeLock()) {
      try {
        if (isStale()) build();
        return;
      } finally {
        rmSync(lock, { recursive: true, force: true });
      }
    }
    if (performance.now() > endMs) throw new Error(`dist/ was not built by its lock's holder; remove ${lock}`);
    await sleep(100);
  }
}

function isStale(): boolean {
  const builtMs = statSync(built, { throwIfNoEntry: false })?.mtimeMs ?? 0;
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

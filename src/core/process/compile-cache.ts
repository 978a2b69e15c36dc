/**
 * Keeps compiled code between commands, which then start in about two thirds of the time. The default folder of Node.js
 * is below the shared temporary folder; code that another user could have written must not run, so this folder is
 * private. NODE_COMPILE_CACHE names another folder, NODE_DISABLE_COMPILE_CACHE=1 turns the cache off.
 */
import { lstatSync, mkdirSync } from "node:fs";
import { enableCompileCache } from "node:module";
import { isAbsolute, join } from "node:path";

/** Without a usable folder it does nothing. */
export function cacheCompiledCode({ XDG_CACHE_HOME, HOME, NODE_COMPILE_CACHE }: NodeJS.ProcessEnv): void {
  if (NODE_COMPILE_CACHE) return;
  const base = XDG_CACHE_HOME || (HOME && join(HOME, ".cache"));
  if (!base || !isAbsolute(base)) return;
  const folder = join(base, "simfleet", "compiled");
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (isPrivate(folder)) enableCompileCache(folder);
  } catch {
    // A read-only home folder: the command starts all the same.
  }
}

/** Whether nobody else can write to the folder. */
function isPrivate(folder: string): boolean {
  const facts = lstatSync(folder);
  return facts.isDirectory() && facts.uid === process.getuid?.() && (facts.mode & 0o022) === 0;
}

/**
 * What the tests of a run share to start the built program: the places of its copy and of the installed package, which
 * the first test that needs one makes, the server that runs commands, and a cache folder. All are removed after the
 * last test.
 */
import { existsSync } from "node:fs";
import { chmod, cp, mkdir, mkdtemp, rm } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { TestProject } from "vitest/node";
import { openCommandServer } from "../e2e/support/command-server.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** Folder of the copy. */
    builtCopy: string;
    /** XDG_CACHE_HOME of commands: with the downloaded Redis of the person, but not the names for completion. */
    cacheHome: string;
    /** Folder of the installed package. */
    installedPackage: string;
    /** Socket of the server. */
    commandServer: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  // Inside node_modules, so that the program finds the same packages.
  const copy = fileURLToPath(new URL(`../../node_modules/.built-${process.pid}`, import.meta.url));
  const folder = await mkdtemp(join(tmpdir(), "simfleet-commands-"));
  await chmod(folder, 0o755); // for other users, who start the package
  const socket = join(folder, "server.sock");
  const close = await openCommandServer(socket);
  const cacheHome = join(folder, "cache");
  await mkdir(join(cacheHome, "simfleet"), { recursive: true });
  const fetched = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "simfleet", "redis-server");
  // A link is rejected. Without the folder, Redis is on the PATH (redis-global-setup.ts).
  if (existsSync(fetched)) await cp(fetched, join(cacheHome, "simfleet", "redis-server"), { recursive: true });
  project.provide("cacheHome", cacheHome);
  project.provide("builtCopy", copy);
  project.provide("installedPackage", join(folder, "package"));
  project.provide("commandServer", socket);
  return async () => {
    close();
    for (const place of [copy, `${copy}.new`, folder]) {
      await rm(place, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
    }
  };
}

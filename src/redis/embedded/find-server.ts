/**
 * Finds a redis-server to run: one on the PATH, otherwise a copy downloaded earlier, otherwise a new download with
 * Debian's package tools, which needs no root. Nothing is installed: the copy is kept in the user's cache folder.
 */
import { execFile } from "node:child_process";
import { constants, type Stats } from "node:fs";
import { access, chmod, cp, lstat, mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { delimiter, join, dirname } from "node:path";
import { promisify } from "node:util";
import { SimfleetError, messageOf } from "#core/errors.ts";
import { isOurs } from "#core/files/open-file.ts";
import { checkFolder } from "#core/files/write-file.ts";

const execute = promisify(execFile);

/** The only variables that a download receives; simfleet's own variables contain secrets. */
const passedOn = /^(HOME|TMPDIR|LANG|(https?|ftp|all|no)_proxy)$/i;

/** Debian's redis-tools contains the server's binary under another name; the others are the libraries that it loads. */
const packages = ["redis-tools", "libjemalloc2", "liblzf1", "libatomic1"];

export interface FindOptions {
  readonly path: string;
  readonly cacheDir: string;
  /** Environment of this process; a download receives only its proxy settings and little more. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/**
 * @returns `libraries`: folder of shared libraries to put on LD_LIBRARY_PATH; undefined for an installed server
 * @throws SimfleetError STORE_UNAVAILABLE with the three ways to provide a server
 */
export async function findRedisServer(options: FindOptions) {
  for (const folder of options.path.split(delimiter).filter((part) => part !== "")) {
    const binary = join(folder, "redis-server");
    if (await isExecutable(binary)) return { binary, libraries: undefined };
  }
  const home = join(options.cacheDir, "redis-server");
  const fetched = { binary: join(home, "redis-server"), libraries: join(home, "lib") };
  if (await isFetched(home)) return fetched;
  try {
    await fetchServer(options, home);
    return fetched;
  } catch (thrown) {
    throw new SimfleetError(
      "STORE_UNAVAILABLE",
      `No Redis is configured and no redis-server could be started or downloaded (${messageOf(thrown).split("\n", 1)[0] ?? ""}). ` +
        "Set SIMFLEET_REDIS_URL to Redis 6.2 or newer, such as redis://127.0.0.1:6379, install one (apt-get install redis-server), or put a redis-server binary on the PATH",
      { cause: thrown },
    );
  }
}

async function fetchServer({ cacheDir, path, env = {} }: FindOptions, home: string): Promise<void> {
  const known = Object.entries(env).filter(([name, value]) => passedOn.test(name) && value !== undefined);
  const small = { PATH: path, ...(Object.fromEntries(known) as Record<string, string>) };
  const run = (program: string, args: readonly string[], more: { cwd?: string; env?: Record<string, string> } = {}) =>
    execute(program, args, { ...more, env: { ...small, ...more.env } });
  await mkdir(cacheDir, { recursive: true, mode: 0o700 });
  const work = await mkdtemp(join(cacheDir, "fetch-"));
  try {
    try {
      await run("apt-get", ["download", ...packages], { cwd: work });
    } catch {
      // The system's package lists are empty or outdated: download separate lists, still without root.
      const own = await ownPackageLists(work);
      await run("apt-get", [...own, "-q", "update"], { cwd: work });
      await run("apt-get", [...own, "download", ...packages], { cwd: work });
    }
    const unpacked = join(work, "unpacked");
    for (const file of await readdir(work)) {
      if (file.endsWith(".deb")) await run("dpkg-deb", ["-x", join(work, file), unpacked]);
    }
    const fresh = join(work, "fresh");
    await mkdir(join(fresh, "lib"), { recursive: true });
    await cp(join(unpacked, "usr/bin/redis-check-rdb"), join(fresh, "redis-server"), { dereference: true });
    await chmod(join(fresh, "redis-server"), 0o755);
    await copyLibraries(unpacked, join(fresh, "lib"));
    await run(join(fresh, "redis-server"), ["--version"], { env: { LD_LIBRARY_PATH: join(fresh, "lib") } });
    await chmod(fresh, 0o755);
    await chmod(join(fresh, "lib"), 0o755);
    await rename(home, join(work, "before")).catch(() => undefined); // there may be a part of one
    await rename(fresh, home).catch(async (thrown: unknown) => {
      // Another process was faster: its copy is equivalent.
      if (!(await isFetched(home))) throw thrown;
    });
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function ownPackageLists(work: string): Promise<string[]> {
  const state = join(work, "state");
  const cache = join(work, "cache");
  await mkdir(join(state, "lists", "partial"), { recursive: true });
  await mkdir(join(cache, "archives", "partial"), { recursive: true });
  return ["-o", `Dir::State=${state}`, "-o", `Dir::Cache=${cache}`, "-o", "Debug::NoLocking=1"];
}

async function copyLibraries(from: string, to: string): Promise<void> {
  for (const entry of await readdir(from, { recursive: true, withFileTypes: true })) {
    if (/\.so(\.\d+)*$/.test(entry.name)) {
      await cp(join(entry.parentPath, entry.name), join(to, entry.name), { dereference: true });
      await chmod(join(to, entry.name), 0o644);
    }
  }
}

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}

/** @throws SimfleetError STORE_UNAVAILABLE if another user than this one and root could have changed the copy */
async function isFetched(home: string): Promise<boolean> {
  const lib = join(home, "lib");
  try {
    const libraries = (await readdir(lib)).map((name) => join(lib, name));
    for (const folder of [dirname(home), home, lib]) assertOurs(folder, await checkFolder(folder));
    for (const file of [...libraries, join(home, "redis-server")]) assertOurs(file, await lstat(file));
    return true;
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw new SimfleetError(
      "STORE_UNAVAILABLE",
      `The downloaded redis-server in ${home} was not started: ${messageOf(thrown)}. Delete the folder to download it again`,
      { cause: thrown },
    );
  }
}

function assertOurs(path: string, facts: Stats): void {
  if (facts.isSymbolicLink()) throw new Error(`${path} is a symbolic link`);
  if (!isOurs(facts.uid)) throw new Error(`${path} belongs to another user (ID ${facts.uid})`);
  if ((facts.mode & 0o022) !== 0) throw new Error(`${path} can be written to by others`);
}

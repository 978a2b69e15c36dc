/**
 * Finds a redis-server to run: one on the PATH, otherwise a copy downloaded earlier, otherwise a new download with Debian's
 * package tools, which needs no root. Nothing is installed: the copy is kept in the user's cache folder.
 */
import { execFile } from "node:child_process";
import { constants } from "node:fs";
import { access, chmod, cp, mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { delimiter, join, dirname } from "node:path";
import { promisify } from "node:util";
import { SimfleetError, messageOf } from "#core/errors.ts";
import { type Clock, minuteMs, systemClock } from "#core/time.ts";
import { createHash } from "node:crypto";
import { isOurs, readFileOnce } from "#core/files/open-file.ts";
import { checkFolder, replaceFile } from "#core/files/write-file.ts";

const execute = promisify(execFile);

/** An older copy is downloaded again if the packages are available; tried once a day. */
const renewAfterMs = 30 * 24 * 60 * minuteMs;
const tryAgainAfterMs = 24 * 60 * minuteMs;
const longestRenewalMs = minuteMs;
/** The only variables that a download receives; simfleet's own variables contain secrets. */
const passedOn = /^(HOME|TMPDIR|LANG|(https?|ftp|all|no)_proxy)$/i;

/** Debian's redis-tools contains the server's binary under another name; the others are the libraries that it loads. */
const packages = ["redis-tools", "libjemalloc2", "liblzf1", "libatomic1"];

export interface RedisServer {
  readonly binary: string;
  /** Folder of shared libraries to put on LD_LIBRARY_PATH; absent for an installed server. */
  readonly libraries?: string;
}

export interface FindOptions {
  /** The PATH to search. */
  readonly path: string;
  /** Folder for downloaded copies. */
  readonly cacheDir: string;
  /** Environment of this process; a download receives only its proxy settings and little more. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly clock?: Clock;
}

/** @throws SimfleetError STORE_UNAVAILABLE with the three ways to provide a server */
export async function findRedisServer(options: FindOptions): Promise<RedisServer> {
  for (const folder of options.path.split(delimiter).filter((part) => part !== "")) {
    const binary = join(folder, "redis-server");
    if (await isExecutable(binary)) return { binary };
  }
  const home = join(options.cacheDir, "redis-server");
  const fetched = { binary: join(home, "redis-server"), libraries: join(home, "lib") };
  const clock = options.clock ?? systemClock;
  const record = await verifyFetched(home);
  if (record !== undefined) {
    const ageMs = clock.wallMs() - record.checkedAtMs;
    if (ageMs < renewAfterMs) return fetched;
    await fetchServer(options, home, longestRenewalMs).catch(() =>
      // The present copy still works; the next attempt is in a day.
      writeRecord(home, { ...record, checkedAtMs: clock.wallMs() - renewAfterMs + tryAgainAfterMs }),
    );
    return fetched;
  }
  try {
    await fetchServer(options, home);
    return fetched;
  } catch (thrown) {
    throw new SimfleetError(
      "STORE_UNAVAILABLE",
      `No Redis is configured and no redis-server could be started or downloaded (${firstLine(messageOf(thrown))}). ` +
        "Set SIMFLEET_REDIS_URL to Redis 6.2 or newer, such as redis://127.0.0.1:6379, install one (apt-get install redis-server), or put a redis-server binary on the PATH",
      { cause: thrown },
    );
  }
}

/** @param timeoutMs of each step; absent: none */
async function fetchServer(
  { cacheDir, path, env = {}, clock = systemClock }: FindOptions,
  home: string,
  timeoutMs = 0,
): Promise<void> {
  const known = Object.entries(env).filter(([name, value]) => passedOn.test(name) && value !== undefined);
  const small = { PATH: path, ...(Object.fromEntries(known) as Record<string, string>) };
  const run = (program: string, args: readonly string[], more: { cwd?: string; env?: Record<string, string> } = {}) =>
    execute(program, args, { ...more, env: { ...small, ...more.env }, timeout: timeoutMs });
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
    await recordFetched(fresh, clock.wallMs());
    await rename(home, join(work, "before")).catch(() => undefined); // there may be none
    await rename(fresh, home).catch(async (thrown: unknown) => {
      // Another process was faster: its copy is equivalent.
      if ((await verifyFetched(home)) === undefined) throw thrown;
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

function firstLine(text: string): string {
  return text.split("\n", 1)[0] ?? "";
}

// Verifies the downloaded copy of redis-server in the user's cache folder before it is run. Only this user and root may be
// able to change it, and its files must match the digests recorded at download.

const recordName = "fetched.json";
const maxBytes = 256 * 1_048_576;

interface FetchRecord {
  /** When it was downloaded, or when a renewal was last tried. */
  readonly checkedAtMs: number;
  /** SHA-256 of each file, hex, by its path in the folder. */
  readonly files: Readonly<Record<string, string>>;
}

/**
 * Returns the record of a copy after verifying all its files.
 * @returns undefined if there is no copy, or one of an earlier version without a record
 * @throws SimfleetError STORE_UNAVAILABLE if another user could have changed it, or it was changed
 */
async function verifyFetched(home: string): Promise<FetchRecord | undefined> {
  try {
    const record = JSON.parse(contentOf(join(home, recordName)).toString("utf8")) as FetchRecord;
    for (const folder of [dirname(home), home, join(home, "lib")]) {
      const { mode } = await checkFolder(folder);
      if ((mode & 0o022) !== 0) throw new Error(`the folder ${folder} can be written to by others`);
    }
    const found = await digestsOf(home);
    const names = new Set([...Object.keys(found), ...Object.keys(record.files)]);
    const changed = [...names].find((name) => found[name] !== record.files[name]);
    if (changed !== undefined) throw new Error(`${join(home, changed)} is not what was downloaded`);
    return record;
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    const why = (thrown as Error).message;
    throw new SimfleetError(
      "STORE_UNAVAILABLE",
      `The downloaded redis-server in ${home} was not started: ${why}. Delete the folder to download it again`,
      { cause: thrown },
    );
  }
}

/** Records the digests of a download. */
export async function recordFetched(home: string, checkedAtMs: number): Promise<void> {
  await writeRecord(home, { checkedAtMs, files: await digestsOf(home) });
}

async function writeRecord(home: string, record: FetchRecord): Promise<void> {
  await replaceFile(join(home, recordName), `${JSON.stringify(record, undefined, 2)}\n`, { mode: 0o600 });
}

async function digestsOf(home: string): Promise<Record<string, string>> {
  const libraries = await readdir(join(home, "lib"));
  const names = ["redis-server", ...libraries.map((name) => `lib/${name}`)];
  const digests = names.map((name) => [
    name,
    createHash("sha256")
      .update(contentOf(join(home, name)))
      .digest("hex"),
  ]);
  return Object.fromEntries(digests) as Record<string, string>;
}

function contentOf(path: string): Buffer {
  const { bytes, uid, mode } = readFileOnce(path, { links: "refuse", maxBytes });
  if (!isOurs(uid)) throw new Error(`${path} belongs to another user (ID ${uid})`);
  if ((mode & 0o022) !== 0) throw new Error(`${path} can be written to by others`);
  return bytes;
}

/**
 * The Redis server that simfleet runs itself if none is configured: one redis-server per data directory, shared by all
 * processes that use the directory, on a unix socket, with an append-only file. `supervise.sh` keeps it running and
 * stops it after the last process; this file starts the supervisor if needed and holds the pipe that signals "still in
 * use". It does not support several machines: they need a common SIMFLEET_REDIS_URL.
 */
import { execFile, spawn } from "node:child_process";
import { constants } from "node:fs";
import { type FileHandle, access, lstat, mkdir, open, readFile, statfs } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Redis } from "ioredis";
import { SimfleetError, messageOf } from "#core/errors.ts";
import { FileRefusedError, ownId } from "#core/files/open-file.ts";
import { systemClock as clock } from "#core/time.ts";
import { ensurePrivateFolder } from "#core/files/write-file.ts";
import { type FindOptions, findRedisServer } from "./find-server.ts";

const supervisor = fileURLToPath(new URL("./supervise.sh", import.meta.url));
const startDeadlineMs = 20_000;
/** Longest path of a unix socket. */
const maxSocketBytes = 100;

export type EmbeddedRedis = Awaited<ReturnType<typeof attachRedis>>;

/**
 * Attaches to the Redis of the data directory; starts it if it is not running.
 * @throws SimfleetError STORE_UNAVAILABLE if no server is available or it does not start within 20 s
 */
export async function attachRedis(options: FindOptions & { readonly dataDir: string }) {
  const { dataDir, path } = options;
  const folder = join(dataDir, "redis");
  // In the folder, which no other user can enter: so whoever answers there is our server.
  const socketPath = join(folder, "redis.sock");
  if (Buffer.byteLength(socketPath) > maxSocketBytes) {
    const tooLong = `The path ${socketPath} is too long for a socket, which takes at most ${maxSocketBytes} bytes`;
    throw unavailable(`${tooLong}: set SIMFLEET_DATA_DIR to a shorter folder`);
  }
  const owner = await otherOwner(folder);
  const alive = await holdPipe(dataDir, folder, owner);

  const start = async (): Promise<void> => {
    if (await answers(socketPath)) return;
    if (owner !== undefined) throw notRunning(folder, owner);
    await assertRoom(folder);
    const server = await findRedisServer(options);
    const endMs = clock.monotonicMs() + startDeadlineMs;
    let nextSpawnMs = 0;
    while (clock.monotonicMs() < endMs) {
      if (clock.monotonicMs() >= nextSpawnMs) {
        // A second supervisor exits at the lock; repeated, because the first may be about to exit.
        spawnSupervisor([folder, server.binary, socketPath], { path, libraries: server.libraries });
        nextSpawnMs = clock.monotonicMs() + 1_000;
      }
      await clock.sleep(15);
      if (await answers(socketPath)) return;
    }
    const log = await readFile(join(folder, "redis.log"), "utf8").catch(() => "");
    const lastWords = log.trimEnd().split("\n").at(-1) || "it wrote no log";
    throw unavailable(
      `The embedded Redis in ${folder} did not start within ${startDeadlineMs / 1_000} s: ${lastWords}`,
    );
  };
  let starting: Promise<void> | undefined;
  /** Restarts the server if it is gone; concurrent callers share one attempt. */
  const ensureRunning = (): Promise<void> => (starting ??= start().finally(() => (starting = undefined)));

  try {
    await ensureRunning();
  } catch (thrown) {
    await alive.close();
    throw thrown;
  }
  return {
    socketPath,
    ensureRunning,
    /** Signals that this process no longer needs the server; the server stops after the last process. */
    close: () => alive.close(),
  };
}

/** Opens the pipe that says that this process lives, in a folder that is made if needed. */
async function holdPipe(dataDir: string, folder: string, owner: number | undefined): Promise<FileHandle> {
  const pipe = join(folder, "alive");
  try {
    await mkdir(dataDir, { recursive: true, mode: 0o700 });
    if (owner === undefined) {
      await ensurePrivateFolder(folder);
      await makePipe(pipe);
    }
  } catch (thrown) {
    const message =
      thrown instanceof FileRefusedError
        ? `${thrown.message} The embedded Redis keeps its data there: set SIMFLEET_DATA_DIR to a folder of this user`
        : `The data directory ${dataDir} cannot be written: set SIMFLEET_DATA_DIR to one that can`;
    throw unavailable(message, thrown);
  }
  // Open for reading and writing, so that opening never blocks; it only has to stay open while this process lives.
  return open(pipe, constants.O_RDWR).catch((thrown: unknown) => {
    throw owner === undefined ? thrown : notRunning(folder, owner);
  });
}

/** A server would end at once, and could not even say why. @throws SimfleetError STORE_UNAVAILABLE */
async function assertRoom(folder: string): Promise<void> {
  const reason = await access(folder, constants.W_OK).then(
    async () => ((await statfs(folder)).bavail === 0 ? "its disk is full" : undefined),
    messageOf,
  );
  if (reason !== undefined) throw unavailable(`The embedded Redis in ${folder} cannot start: ${reason}`);
}

function spawnSupervisor(
  args: readonly string[],
  { path, libraries }: { path: string; libraries: string | undefined },
) {
  const env = { PATH: path, ...(libraries === undefined ? {} : { LD_LIBRARY_PATH: libraries }) };
  const child = spawn("/bin/sh", [supervisor, ...args], { detached: true, stdio: "ignore", env });
  child.on("error", () => undefined);
  child.unref();
}

function unavailable(message: string, cause?: unknown): SimfleetError {
  return new SimfleetError("STORE_UNAVAILABLE", message, { cause });
}

/**
 * The user whose running server root may use, as when it freezes all changes; undefined for a folder that is used as
 * our own. Root starts nothing there and writes no file, which the owner could not change afterwards.
 */
async function otherOwner(folder: string): Promise<number | undefined> {
  if (ownId() !== 0) return undefined;
  const found = await lstat(folder).catch(() => undefined);
  return found?.isDirectory() === true && found.uid !== 0 && (found.mode & 0o077) === 0 ? found.uid : undefined;
}

function notRunning(folder: string, owner: number): SimfleetError {
  return unavailable(
    `The folder ${folder} belongs to another user (ID ${owner}), whose embedded Redis does not run. Start that user's worker, or run simfleet as that user (sudo -u '#${owner}' simfleet …)`,
  );
}

async function makePipe(path: string): Promise<void> {
  const held = await open(path, constants.O_RDWR).catch(() => undefined);
  if (held !== undefined) return held.close();
  await promisify(execFile)("mkfifo", ["-m", "600", path]).catch(async (thrown: unknown) => {
    // Another process created it in the meantime.
    await (await open(path, constants.O_RDWR).catch(() => Promise.reject(thrown))).close();
  });
}

/**
 * Whether a loaded Redis answers on the socket.
 * @throws SimfleetError STORE_UNAVAILABLE if it runs and rejects writes, as on a full disk
 */
async function answers(socketPath: string): Promise<boolean> {
  const redis = new Redis({
    path: socketPath,
    lazyConnect: true,
    enableReadyCheck: false,
    commandTimeout: 500,
    retryStrategy: () => null,
  });
  redis.on("error", () => undefined);
  try {
    return (await redis.ping()) === "PONG";
  } catch (thrown) {
    const [, reason] = /^MISCONF (.+)/.exec(messageOf(thrown)) ?? [];
    if (reason === undefined) return false;
    const message = `The embedded Redis at ${socketPath} runs and rejects writes: ${reason}`;
    throw unavailable(`${message}. Make room on its disk, or make it writable`);
  } finally {
    redis.disconnect();
  }
}

/**
 * The Redis server that simfleet runs itself if none is configured: one redis-server per data directory, shared by all
 * processes that use the directory, on a unix socket, with an append-only file. `supervise.sh` keeps it running and stops
 * it after the last process; this file starts the supervisor if needed and holds the pipe that signals "still in use".
 * It does not support several machines: they need a common SIMFLEET_REDIS_URL.
 */
import { execFile, spawn } from "node:child_process";
import { constants } from "node:fs";
import { type FileHandle, access, lstat, mkdir, open, readFile, statfs } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { SimfleetError, messageOf } from "#core/errors.ts";
import { FileRefusedError, ownId } from "#core/files/open-file.ts";
import { type Clock, systemClock } from "#core/time.ts";
import { ensurePrivateFolder, holdFolder } from "#core/files/write-file.ts";
import { findRedisServer } from "./find-server.ts";

const supervisor = fileURLToPath(new URL("./supervise.sh", import.meta.url));
const startDeadlineMs = 20_000;
/** Maximum path length for a unix socket's address, minus room for the name. */
const longestSocketPath = 100;
const socketName = "redis.sock";

export interface EmbeddedOptions {
  readonly dataDir: string;
  readonly cacheDir: string;
  readonly path: string;
  /** Environment of this process; a download receives only its proxy settings and little more. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly clock?: Clock;
}

export class EmbeddedRedis {
  readonly socketPath: string;
  readonly #folder: string;
  readonly #serverSocket: string;
  readonly #options: EmbeddedOptions;
  readonly #alive: FileHandle;
  /** The folder, held open. */
  readonly #held: FileHandle;
  readonly #owner: number | undefined;
  #starting: Promise<void> | undefined;

  private constructor(
    options: EmbeddedOptions,
    folder: string,
    { alive, held, owner }: { alive: FileHandle; held: FileHandle; owner: number | undefined },
  ) {
    this.#options = options;
    this.#folder = folder;
    this.#alive = alive;
    this.#held = held;
    this.#owner = owner;
    this.#serverSocket = serverSocketFor(folder);
    this.socketPath = socketPathFor(folder, held);
  }

  /**
   * Attaches to the Redis of the data directory; starts it if it is not running.
   * @throws SimfleetError STORE_UNAVAILABLE if no server is available or it does not start within 20 s
   */
  static async attach(options: EmbeddedOptions): Promise<EmbeddedRedis> {
    const folder = join(options.dataDir, "redis");
    const owner = await otherOwner(folder);
    try {
      await mkdir(options.dataDir, { recursive: true, mode: 0o700 });
      if (owner === undefined) {
        await ensurePrivateFolder(folder, "close");
        await makePipe(join(folder, "alive"));
      }
    } catch (thrown) {
      if (thrown instanceof FileRefusedError) {
        const message = `${thrown.message} The embedded Redis keeps its data there: set SIMFLEET_DATA_DIR to a folder of this user`;
        throw new SimfleetError("STORE_UNAVAILABLE", message, { cause: thrown });
      }
      throw new SimfleetError(
        "STORE_UNAVAILABLE",
        `The data directory ${options.dataDir} cannot be written: set SIMFLEET_DATA_DIR to one that can`,
        { cause: thrown },
      );
    }
    // Open for reading and writing, so that opening never blocks; it only has to stay open while this process lives.
    const alive = await open(join(folder, "alive"), constants.O_RDWR).catch((thrown: unknown) => {
      throw owner === undefined ? thrown : notRunning(folder, owner);
    });
    const held = await holdFolder(folder, owner);
    const embedded = new EmbeddedRedis(options, folder, { alive, held, owner });
    try {
      await embedded.ensureRunning();
    } catch (thrown) {
      await embedded.close();
      throw thrown;
    }
    return embedded;
  }

  /** Restarts the server if it is gone; concurrent callers share one attempt. */
  ensureRunning(): Promise<void> {
    this.#starting ??= this.#start().finally(() => {
      this.#starting = undefined;
    });
    return this.#starting;
  }

  /** Signals that this process no longer needs the server; the server stops after the last process. */
  async close(): Promise<void> {
    await this.#alive.close();
    await this.#held.close();
  }

  async #start(): Promise<void> {
    const clock = this.#options.clock ?? systemClock;
    if (await answers(this.socketPath)) return;
    if (this.#owner !== undefined) throw notRunning(this.#folder, this.#owner);
    await this.#assertRoom();
    const server = await findRedisServer(this.#options);
    const endMs = clock.monotonicMs() + startDeadlineMs;
    let nextSpawnMs = 0;
    while (clock.monotonicMs() < endMs) {
      if (clock.monotonicMs() >= nextSpawnMs) {
        // A second supervisor exits at the lock; repeated, because the first may be about to exit.
        this.#spawnSupervisor(server.binary, server.libraries);
        nextSpawnMs = clock.monotonicMs() + 1_000;
      }
      await clock.sleep(15);
      if (await answers(this.socketPath)) return;
    }
    throw new SimfleetError(
      "STORE_UNAVAILABLE",
      `The embedded Redis in ${this.#folder} did not start within ${startDeadlineMs / 1_000} s: ${await this.#lastWords()}`,
    );
  }

  /** A server would end at once, and could not even say why. @throws SimfleetError STORE_UNAVAILABLE */
  async #assertRoom(): Promise<void> {
    const reason = await access(this.#folder, constants.W_OK).then(
      async () => ((await statfs(this.#folder)).bavail === 0 ? "its disk is full" : undefined),
      messageOf,
    );
    if (reason === undefined) return;
    throw new SimfleetError("STORE_UNAVAILABLE", `The embedded Redis in ${this.#folder} cannot start: ${reason}`);
  }

  #spawnSupervisor(binary: string, libraries: string | undefined): void {
    const child = spawn("/bin/sh", [supervisor, this.#folder, binary, this.#serverSocket], {
      detached: true,
      stdio: "ignore",
      env: { PATH: this.#options.path, ...(libraries === undefined ? {} : { LD_LIBRARY_PATH: libraries }) },
    });
    child.on("error", () => undefined);
    child.unref();
  }

  async #lastWords(): Promise<string> {
    const log = await readFile(join(this.#folder, "redis.log"), "utf8").catch(() => "");
    return log.trimEnd().split("\n").at(-1) || "it wrote no log";
  }
}

/**
 * The user whose running server root may use, as when it freezes all changes; undefined for a folder that is used as our own.
 * Root starts nothing there and writes no file, which the owner could not change afterwards.
 */
async function otherOwner(folder: string): Promise<number | undefined> {
  if (ownId() !== 0) return undefined;
  const found = await lstat(folder).catch(() => undefined);
  return found?.isDirectory() === true && found.uid !== 0 && (found.mode & 0o077) === 0 ? found.uid : undefined;
}

function notRunning(folder: string, owner: number): SimfleetError {
  const message = `The folder ${folder} belongs to another user (ID ${owner}), whose embedded Redis does not run. Start that user's worker, or run simfleet as that user (sudo -u '#${owner}' simfleet …)`;
  return new SimfleetError("STORE_UNAVAILABLE", message);
}

/** The socket path for the server, whose working directory is the folder. */
function serverSocketFor(folder: string): string {
  const plain = join(folder, socketName);
  return Buffer.byteLength(plain) <= longestSocketPath ? plain : socketName;
}

/** The socket is always in the folder, which no other user can enter: so whoever answers there is our server. */
function socketPathFor(folder: string, held: FileHandle): string {
  const plain = join(folder, socketName);
  if (Buffer.byteLength(plain) <= longestSocketPath) return plain;
  // The same file, reached through the folder that this process holds open: this path is short, however long the real one is.
  return join("/proc/self/fd", String(held.fd), socketName);
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
 * Whether a loaded Redis answers a PING on the socket.
 * @throws SimfleetError STORE_UNAVAILABLE if it runs and rejects writes, as on a full disk
 */
function answers(socketPath: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect(socketPath);
    const done = (isUp: boolean): void => {
      socket.destroy();
      resolve(isUp);
    };
    socket.setTimeout(500, () => done(false));
    socket.on("error", () => done(false));
    socket.on("connect", () => socket.write("PING\r\n"));
    socket.on("data", (data) => {
      const reply = data.toString("latin1").trim();
      if (!reply.startsWith("-MISCONF ")) return done(reply.startsWith("+PONG"));
      socket.destroy();
      const message = `The embedded Redis at ${socketPath} runs and rejects writes: ${reply.slice("-MISCONF ".length)}`;
      reject(new SimfleetError("STORE_UNAVAILABLE", `${message}. Make room on its disk, or make it writable`));
    });
    socket.on("end", () => done(false));
  });
}

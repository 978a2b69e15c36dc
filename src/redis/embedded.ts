/**
 * The Redis that simfleet runs itself when none is configured: one redis-server per data directory, shared by all
 * processes that use it, on a unix socket, with an append-only file. `supervise.sh` keeps it alive and stops it after
 * the last process; this file starts that supervisor where needed and holds the pipe that says "still in use".
 * It is not for several machines: give them all one SIMFLEET_REDIS_URL.
 */
import { execFile, spawn } from "node:child_process";
import { constants } from "node:fs";
import { type FileHandle, mkdir, open, readFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { SimfleetError } from "#core/errors.ts";
import { FileRefusedError } from "#core/open-file.ts";
import { type Clock, systemClock } from "#core/time.ts";
import { ensurePrivateFolder, holdFolder } from "#core/write-file.ts";
import { findRedisServer } from "./find-server.ts";

const supervisor = fileURLToPath(new URL("./supervise.sh", import.meta.url));
const startDeadlineMs = 20_000;
/** The longest path that fits a unix socket's address, with room for the name. */
const longestSocketPath = 100;
const socketName = "redis.sock";

export interface EmbeddedOptions {
  readonly dataDir: string;
  readonly cacheDir: string;
  readonly path: string;
  /** Of this process; what is fetched sees its proxies and little more. */
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
  #starting: Promise<void> | undefined;

  private constructor(
    options: EmbeddedOptions,
    folder: string,
    { alive, held }: { alive: FileHandle; held: FileHandle },
  ) {
    this.#options = options;
    this.#folder = folder;
    this.#alive = alive;
    this.#held = held;
    this.#serverSocket = serverSocketFor(folder);
    this.socketPath = socketPathFor(folder, held);
  }

  /**
   * Attaches to the data directory's Redis, starting it where it does not run.
   * @throws SimfleetError STORE_UNAVAILABLE when there is no server to run or it does not come up within 20 s
   */
  static async attach(options: EmbeddedOptions): Promise<EmbeddedRedis> {
    const folder = join(options.dataDir, "redis");
    try {
      await mkdir(options.dataDir, { recursive: true, mode: 0o700 });
      await ensurePrivateFolder(folder, "close");
      await makePipe(join(folder, "alive"));
    } catch (thrown) {
      if (thrown instanceof FileRefusedError) {
        const mend = "set SIMFLEET_DATA_DIR to a folder of this user";
        throw new SimfleetError(
          "STORE_UNAVAILABLE",
          `${thrown.message} The embedded Redis keeps its data there: ${mend}`,
          {
            cause: thrown,
          },
        );
      }
      throw new SimfleetError(
        "STORE_UNAVAILABLE",
        `The data directory ${options.dataDir} cannot be written: set SIMFLEET_DATA_DIR to one that can`,
        { cause: thrown },
      );
    }
    // Open for both, so that opening never blocks; what counts is that it stays open while this process lives.
    const alive = await open(join(folder, "alive"), constants.O_RDWR);
    const held = await holdFolder(folder);
    const embedded = new EmbeddedRedis(options, folder, { alive, held });
    try {
      await embedded.ensureRunning();
    } catch (thrown) {
      await embedded.close();
      throw thrown;
    }
    return embedded;
  }

  /** Starts the server again if it is gone; many callers at once share one attempt. */
  ensureRunning(): Promise<void> {
    this.#starting ??= this.#start().finally(() => {
      this.#starting = undefined;
    });
    return this.#starting;
  }

  /** Says that this process no longer needs the server; the last one to say so ends it. */
  async close(): Promise<void> {
    await this.#alive.close();
    await this.#held.close();
  }

  async #start(): Promise<void> {
    const clock = this.#options.clock ?? systemClock;
    if (await answers(this.socketPath)) return;
    const server = await findRedisServer(this.#options);
    const endMs = clock.monotonicMs() + startDeadlineMs;
    let nextSpawnMs = 0;
    while (clock.monotonicMs() < endMs) {
      if (clock.monotonicMs() >= nextSpawnMs) {
        // A second supervisor ends at once at the lock; repeated, because the first may just be on its way out.
        this.#spawnSupervisor(server.binary, server.libraries);
        nextSpawnMs = clock.monotonicMs() + 1_000;
      }
      await clock.sleep(15);
      if (await answers(this.socketPath)) return;
    }
    throw new SimfleetError(
      "STORE_UNAVAILABLE",
      `The embedded Redis in ${this.#folder} did not come up within ${startDeadlineMs / 1_000} s: ${await this.#lastWords()}`,
    );
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

/** As the server gets it, which works inside the folder. */
function serverSocketFor(folder: string): string {
  const plain = join(folder, socketName);
  return Buffer.byteLength(plain) <= longestSocketPath ? plain : socketName;
}

/** The socket always lies in the folder, which no other user may enter: whoever answers there is ours. */
function socketPathFor(folder: string, held: FileHandle): string {
  const plain = join(folder, socketName);
  if (Buffer.byteLength(plain) <= longestSocketPath) return plain;
  // The same place by way of the folder that this process holds open, which is short however long its path is.
  return join("/proc/self/fd", String(held.fd), socketName);
}

async function makePipe(path: string): Promise<void> {
  const held = await open(path, constants.O_RDWR).catch(() => undefined);
  if (held !== undefined) return held.close();
  await promisify(execFile)("mkfifo", ["-m", "600", path]).catch(async (thrown: unknown) => {
    // Another process made it in the meantime.
    await (await open(path, constants.O_RDWR).catch(() => Promise.reject(thrown))).close();
  });
}

/** Whether a loaded Redis answers a PING on the socket. */
function answers(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(socketPath);
    const done = (isUp: boolean): void => {
      socket.destroy();
      resolve(isUp);
    };
    socket.setTimeout(500, () => done(false));
    socket.on("error", () => done(false));
    socket.on("connect", () => socket.write("PING\r\n"));
    socket.on("data", (data) => done(data.toString("latin1").startsWith("+PONG")));
    socket.on("end", () => done(false));
  });
}

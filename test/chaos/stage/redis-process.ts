/** A redis-server on a port of its own that can be killed, frozen, filled and started again with the same data. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { findRedisServer } from "#redis/embedded/find-server.ts";

export class RedisProcess {
  readonly port: number;
  /** Past all proxies; for faults and checks. */
  readonly direct: Redis;
  readonly #start: () => ChildProcess;
  #child: ChildProcess;

  private constructor(port: number, start: () => ChildProcess) {
    this.port = port;
    this.#start = start;
    this.#child = start();
    this.direct = new Redis({ port, maxRetriesPerRequest: null, retryStrategy: () => 50 });
    this.direct.on("error", () => undefined);
  }

  static async start(folder: string, port: number): Promise<RedisProcess> {
    const cacheDir = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "simfleet");
    const { binary, libraries } = await findRedisServer({ path: process.env.PATH ?? "", cacheDir });
    const dir = join(folder, "redis");
    mkdirSync(dir);
    const where = ["--port", String(port), "--bind", "127.0.0.1", "--dir", dir, "--logfile", "redis.log"];
    const durability = ["--appendonly", "yes", "--appendfsync", "everysec", "--save", ""];
    const args = [...where, ...durability, "--maxmemory-policy", "noeviction"];
    const env = libraries === undefined ? process.env : { ...process.env, LD_LIBRARY_PATH: libraries };
    const redis = new RedisProcess(port, () => spawn(binary, args, { env, stdio: "ignore" }));
    await redis.direct.ping();
    return redis;
  }

  get #isUp(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Another fault may have killed it before. */
  async kill(): Promise<void> {
    if (!this.#isUp) return;
    const gone = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await gone;
  }

  restart(): void {
    if (!this.#isUp) this.#child = this.#start();
  }

  signal(signal: "SIGSTOP" | "SIGCONT"): void {
    this.#child.kill(signal);
  }

  /** Leaves room for about this many more bytes. */
  async fill(roomBytes: number): Promise<void> {
    const used = Number(/^used_memory:(\d+)/m.exec(await this.direct.info("memory"))?.[1]);
    await this.direct.config("SET", "maxmemory", String(used + roomBytes));
  }

  async makeRoom(): Promise<void> {
    await this.direct.config("SET", "maxmemory", "0");
  }

  async close(): Promise<void> {
    this.direct.disconnect();
    await this.kill();
  }
}

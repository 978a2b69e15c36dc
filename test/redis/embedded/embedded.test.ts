import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, inject, it, vi } from "vitest";
import { RedisConnections } from "#redis/connection.ts";
import { EmbeddedRedis } from "#redis/embedded.ts";
import { findRedisServer } from "#redis/find-server.ts";
import { until } from "../../support/until.ts";

const cacheDir = inject("cacheDir");
const path = process.env.PATH ?? "";
const attachScript = fileURLToPath(new URL("../../support/attach.ts", import.meta.url));
const superviseScript = fileURLToPath(new URL("../../../src/redis/supervise.sh", import.meta.url));

let dataDir: string;
let leave: (() => Promise<void>)[];
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "simfleet-embedded-"));
  leave = [];
});
afterEach(async () => {
  for (const one of leave.toReversed()) await one();
  await until("no server is left", () => serversOf(dataDir).length === 0);
  await rm(dataDir, { recursive: true });
});

async function attach(folder = dataDir): Promise<EmbeddedRedis> {
  const embedded = await EmbeddedRedis.attach({ dataDir: folder, cacheDir, path });
  leave.push(() => embedded.close().catch(() => undefined));
  return embedded;
}

async function attachInProcess(): Promise<ChildProcess> {
  const child = spawn(process.execPath, ["--conditions=source", attachScript, dataDir, cacheDir], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  leave.push(() => Promise.resolve(void child.kill("SIGKILL")));
  await once(child.stdout as NodeJS.ReadableStream, "data");
  return child;
}

/** Processes that run redis-server in a data directory; a server shows its socket in place of its command line. */
function serversOf(folder: string): number[] {
  return readdirSync("/proc")
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number)
    .filter((pid) => {
      try {
        const commandLine = readFileSync(`/proc/${pid}/cmdline`, "latin1");
        return /^[^ \0]*redis-server[ \0]/.test(commandLine) && commandLine.includes(folder);
      } catch {
        return false; // gone meanwhile
      }
    });
}

async function serverPid(): Promise<number> {
  const file = join(dataDir, "redis", "redis.pid");
  await until("the server wrote its id", () => existsSync(file) && readFileSync(file, "utf8").trim() !== "");
  return Number(await readFile(file, "utf8"));
}

function parentOf(pid: number): number {
  return Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
}

/** A process that has ended may still have an entry until its parent has looked. */
function isGone(pid: number): boolean {
  try {
    return /^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "latin1"));
  } catch {
    return true;
  }
}

describe("the embedded Redis", () => {
  it("is one server for all processes of a data directory, and stops with the last", async () => {
    const [child, embedded] = [await attachInProcess(), await attach()];
    const pid = await serverPid();
    expect(serversOf(dataDir)).toEqual([pid]);
    child.stdin?.end();
    await once(child, "exit");
    const connections = new RedisConnections({ embedded });
    expect(await connections.connect("test").ping()).toBe("PONG");
    await connections.close();
    await embedded.close();
    await until("the server stopped", () => isGone(pid), 2_000);
  });

  it("stops when its last process was killed", async () => {
    const child = await attachInProcess();
    const pid = await serverPid();
    child.kill("SIGKILL");
    await until("the server stopped", () => isGone(pid), 2_000);
  });

  it("stops when its last process was gone before the supervisor could look", async () => {
    const { binary, libraries = "" } = await findRedisServer({ path, cacheDir });
    await (await attach()).close();
    const folder = join(dataDir, "redis");
    await until("the first server is gone", () => !existsSync(join(folder, "redis.sock")));
    const late = spawn("/bin/sh", [superviseScript, folder, binary, join(folder, "redis.sock")], {
      env: { PATH: path, LD_LIBRARY_PATH: libraries },
      stdio: "ignore",
    });
    leave.push(() => Promise.resolve(void late.kill("SIGTERM")));
    await until("the supervisor is gone", () => late.exitCode !== null, 2_000);
    expect(serversOf(dataDir)).toEqual([]);
  });

  it("comes back by itself with its data when its server is killed", async () => {
    const embedded = await attach();
    const connections = new RedisConnections({ embedded });
    const redis = connections.connect("test");
    await redis.set("kept", "yes");
    const pid = await serverPid();
    process.kill(pid, "SIGKILL");
    await until("another server is up", async () => isGone(pid) && (await redis.info("server")).includes("process_id"));
    expect(await redis.get("kept")).toBe("yes");
    expect(await serverPid()).not.toBe(pid);
    await connections.close();
  });

  it("never has two servers on one data directory, whoever is killed", async () => {
    const embedded = await attach();
    const connections = new RedisConnections({ embedded });
    const redis = connections.connect("test");
    await redis.set("kept", "yes");
    const pid = await serverPid();
    const supervisor = parentOf(pid);
    process.kill(supervisor, "SIGKILL");
    await until("the supervisor is gone", () => isGone(supervisor));
    await Promise.all([attachInProcess(), attachInProcess(), embedded.ensureRunning()]);
    expect(serversOf(dataDir)).toEqual([pid]);
    process.kill(pid, "SIGKILL");
    expect(await redis.get("kept")).toBe("yes"); // a new supervisor and server, by the connection's own retries
    const second = await serverPid();
    expect(second).not.toBe(pid);
    expect(serversOf(dataDir)).toEqual([second]);
    await connections.close();
    for (const one of leave.toReversed()) await one();
    await until("the server stopped", () => isGone(second), 3_000);
  });

  it("stops without its supervisor too", async () => {
    const child = await attachInProcess();
    const pid = await serverPid();
    process.kill(parentOf(pid), "SIGKILL");
    child.kill("SIGKILL");
    await until("the server stopped", () => isGone(pid), 2_000);
  });

  it("starts once for many that ask at once", async () => {
    await Promise.all(Array.from({ length: 4 }, () => attach()));
    expect(serversOf(dataDir)).toHaveLength(1);
  });

  it("works in a folder whose path is too long for a socket", async () => {
    const long = join(dataDir, "x".repeat(100), "y".repeat(100));
    const embedded = await attach(long);
    expect(Buffer.byteLength(embedded.socketPath)).toBeLessThan(108);
    const connections = new RedisConnections({ embedded });
    expect(await connections.connect("test").ping()).toBe("PONG");
    await connections.close();
    await embedded.close();
    await until("the server stopped", () =>
      stat(embedded.socketPath).then(
        () => false,
        () => true,
      ),
    );
  });

  it("says which setting to change when the data directory cannot be written", async () => {
    const file = join(dataDir, "file");
    await writeFile(file, "");
    await expect(attach(join(file, "data"))).rejects.toMatchObject({
      code: "STORE_UNAVAILABLE",
      message: `The data directory ${join(file, "data")} cannot be written: set SIMFLEET_DATA_DIR to one that can`,
    });
  });
});

describe("finding a redis-server", () => {
  afterEach(() => vi.unstubAllEnvs());

  it("takes the one on the PATH first, and a fetched copy without fetching again", async () => {
    const bin = join(dataDir, "bin");
    await mkdir(join(dataDir, "redis-server"), { recursive: true });
    await mkdir(bin);
    await writeFile(join(dataDir, "redis-server", "redis-server"), "", { mode: 0o755 });
    expect(await findRedisServer({ path: `/nowhere:${bin}`, cacheDir: dataDir })).toEqual({
      binary: join(dataDir, "redis-server", "redis-server"),
      libraries: join(dataDir, "redis-server", "lib"),
    });
    await writeFile(join(bin, "redis-server"), "", { mode: 0o755 });
    expect(await findRedisServer({ path: `/nowhere:${bin}`, cacheDir: dataDir })).toEqual({
      binary: join(bin, "redis-server"),
    });
  });

  it("names three ways to get one where there is none and none can be fetched", async () => {
    const aptGet = join(dataDir, "apt-get");
    await writeFile(aptGet, "#!/bin/sh\necho 'E: no network' >&2\nexit 100\n");
    await chmod(aptGet, 0o755);
    vi.stubEnv("PATH", dataDir);
    const refusal: unknown = await findRedisServer({ path: "", cacheDir: join(dataDir, "cache") }).catch(
      (thrown: unknown) => thrown,
    );
    expect(refusal).toMatchObject({ code: "STORE_UNAVAILABLE" });
    const lines = (refusal as Error).message.split("\n");
    expect(lines[0]).toMatch(/^No Redis is configured and no redis-server could be started or fetched \(.*apt-get/);
    expect(lines.slice(2)).toEqual([
      "  set SIMFLEET_REDIS_URL to a Redis of 6.2 or newer, such as redis://127.0.0.1:6379",
      "  install one: apt-get install redis-server",
      "  put a redis-server binary on the PATH",
    ]);
    expect(readdirSync(join(dataDir, "cache"))).toEqual([]);
  });
});

import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { chmod, chown, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, inject, it, vi } from "vitest";
import { redisConnections } from "#redis/connection.ts";
import { attachRedis, type EmbeddedRedis } from "#redis/embedded/embedded.ts";
import { verifyRedis } from "#redis/verify.ts";
import { findRedisServer } from "#redis/embedded/find-server.ts";
import { until } from "../../support/until.ts";
import { isRoot, unlessRoot } from "../../support/left-out.ts";

const cacheDir = inject("cacheDir");
const path = process.env.PATH ?? "";
const attachScript = fileURLToPath(new URL("../../support/attach.ts", import.meta.url));
const superviseScript = fileURLToPath(new URL("../../../src/redis/embedded/supervise.sh", import.meta.url));

let dataDir: string;
let leave: (() => Promise<void>)[];
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "simfleet-embedded-"));
  leave = [];
});
afterEach(async () => {
  for (const one of leave.toReversed()) await one();
  await until("no server is left", () => serversOf(dataDir).length === 0);
  await rm(dataDir, { recursive: true, maxRetries: 20, retryDelay: 50 });
});

async function attach(folder = dataDir): Promise<EmbeddedRedis> {
  const embedded = await attachRedis({ dataDir: folder, cacheDir, path });
  leave.push(() => embedded.close().catch(() => undefined));
  return embedded;
}

/** Connections that are closed before their process leaves. */
function connectionsTo(embedded: EmbeddedRedis): ReturnType<typeof redisConnections> {
  const connections = redisConnections(embedded);
  leave.push(() => connections.close());
  return connections;
}

async function attachInProcess(): Promise<ChildProcess> {
  const child = spawn(process.execPath, [attachScript, dataDir, cacheDir], {
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

/** Kills the supervisor of a server, which runs on without it. */
async function killSupervisorOf(pid: number): Promise<void> {
  const supervisor = parentOf(pid);
  process.kill(supervisor, "SIGKILL");
  await until("the supervisor is gone", () => isGone(supervisor));
}

async function expectRefusal(refused: Promise<unknown>, message: RegExp): Promise<void> {
  const refusal = { code: "STORE_UNAVAILABLE", message: expect.stringMatching(message) as unknown };
  await expect(refused).rejects.toMatchObject(refusal);
}

describe("the embedded Redis", () => {
  it("all processes of a data directory share one embedded Redis, which stops with the last of them", async () => {
    const [child, embedded] = [await attachInProcess(), await attach()];
    const pid = await serverPid();
    expect(serversOf(dataDir)).toEqual([pid]);
    child.stdin?.end();
    await once(child, "exit");
    const connections = redisConnections(embedded);
    expect(await connections.connect("test").ping()).toBe("PONG");
    await connections.close();
    await embedded.close();
    await until("the server stopped", () => isGone(pid));
  });

  it("the embedded Redis stops when its last process was killed", async () => {
    const child = await attachInProcess();
    const pid = await serverPid();
    child.kill("SIGKILL");
    await until("the server stopped", () => isGone(pid));
  });

  it("the embedded Redis stops if its last process exited before the supervisor could check", async () => {
    const { binary, libraries = "" } = await findRedisServer({ path, cacheDir });
    await (await attach()).close();
    const folder = join(dataDir, "redis");
    await until("the first server is gone", () => serversOf(dataDir).length === 0);
    const late = spawn("/bin/sh", [superviseScript, folder, binary, join(folder, "redis.sock")], {
      env: { PATH: path, LD_LIBRARY_PATH: libraries },
      stdio: "ignore",
    });
    leave.push(() => Promise.resolve(void late.kill("SIGTERM")));
    await until("the supervisor is gone", () => late.exitCode !== null);
    expect(serversOf(dataDir)).toEqual([]);
  });

  it("a process that found the embedded Redis just before it stopped starts it again", async () => {
    const embedded = await attach();
    const pid = await serverPid();
    process.kill(parentOf(pid), "SIGTERM"); // as after the last process
    await until("the server has ended", () => isGone(pid));
    expect((await verifyRedis(connectionsTo(embedded))).topology).toBe("server");
  });

  it("the embedded Redis never runs two servers on one data directory after any process is killed", async () => {
    const embedded = await attach();
    const redis = connectionsTo(embedded).connect("test");
    await redis.set("kept", "yes");
    const pid = await serverPid();
    await killSupervisorOf(pid);
    await Promise.all([attachInProcess(), attachInProcess(), embedded.ensureRunning()]);
    expect(serversOf(dataDir)).toEqual([pid]);
    process.kill(pid, "SIGKILL");
    expect(await redis.get("kept")).toBe("yes"); // a new supervisor and server, by the connection's own retries
    const second = await serverPid();
    expect(second).not.toBe(pid);
    expect(serversOf(dataDir)).toEqual([second]);
  });

  it("a second supervisor of the embedded Redis ends at once and starts no server", async () => {
    await attach();
    const pid = await serverPid();
    const [shell = "", ...words] = readFileSync(`/proc/${parentOf(pid)}/cmdline`, "utf8")
      .split("\0")
      .slice(0, -1);
    execFileSync(shell, words, { timeout: 5_000 }); // throws at the timeout
    expect(serversOf(dataDir)).toEqual([pid]);
  });

  it("the embedded Redis uses a socket in its folder, and refuses a folder whose path is too long for one", async () => {
    await attach();
    expect((await stat(join(dataDir, "redis", "redis.sock"))).isSocket()).toBe(true);
    const tooLong = /is too long for a socket, .+: set SIMFLEET_DATA_DIR to a shorter folder$/;
    await expectRefusal(attach(join(dataDir, "x".repeat(100))), tooLong);
  });

  it("the embedded Redis makes its folder private and refuses one that is a link", async () => {
    await mkdir(join(dataDir, "redis"));
    await chmod(join(dataDir, "redis"), 0o777);
    await attach();
    expect((await stat(join(dataDir, "redis"))).mode & 0o777).toBe(0o700);
    const linked = join(dataDir, "linked");
    await mkdir(linked);
    await symlink(join(dataDir, "redis"), join(linked, "redis"));
    await expectRefusal(attach(linked), /is a symbolic link; it must be a folder/);
  });

  it.runIf(isRoot)(`the embedded Redis refuses a folder of another user${unlessRoot}`, async () => {
    await mkdir(join(dataDir, "redis"));
    await chown(join(dataDir, "redis"), 12_345, 12_345);
    await expectRefusal(attach(), /belongs to another user \(ID 12345\)/);
  });

  it("the embedded Redis names the setting to change when the data directory is not writable", async () => {
    const file = join(dataDir, "file");
    await writeFile(file, "");
    await expect(attach(join(file, "data"))).rejects.toMatchObject({
      code: "STORE_UNAVAILABLE",
      message: `The data directory ${join(file, "data")} cannot be written: set SIMFLEET_DATA_DIR to one that can`,
    });
  });
});

/** A copy as if it had been fetched; what it would do is not asked. */
async function copyIn(cache: string): Promise<string> {
  const home = join(cache, "redis-server");
  await mkdir(join(home, "lib"), { recursive: true });
  await writeFile(join(home, "redis-server"), "", { mode: 0o755 });
  await writeFile(join(home, "lib", "libx.so.1"), "x", { mode: 0o644 });
  return home;
}

describe("the search for a redis-server", () => {
  afterEach(() => vi.unstubAllEnvs());

  it("a redis-server on the PATH is preferred, and a downloaded copy is reused", async () => {
    const bin = join(dataDir, "bin");
    await mkdir(bin);
    await copyIn(dataDir);
    expect(await findRedisServer({ path: `/nowhere:${bin}`, cacheDir: dataDir })).toEqual({
      binary: join(dataDir, "redis-server", "redis-server"),
      libraries: join(dataDir, "redis-server", "lib"),
    });
    await writeFile(join(bin, "redis-server"), "", { mode: 0o755 });
    expect(await findRedisServer({ path: `/nowhere:${bin}`, cacheDir: dataDir })).toEqual({
      binary: join(bin, "redis-server"),
    });
  });

  it.each([
    ["open to others", async (home: string) => chmod(join(home, "redis-server"), 0o777), /can be written to by others/],
    ["in a folder open to others", async (home: string) => chmod(home, 0o777), /can be written to by others/],
    [
      "exchanged for a link",
      async (home: string) => {
        await rm(join(home, "redis-server"));
        await symlink("/bin/true", join(home, "redis-server"));
      },
      /is a symbolic link/,
    ],
  ])("a downloaded redis-server is not run when it was %s", async (_, change, message) => {
    const home = await copyIn(dataDir);
    await change(home);
    await expectRefusal(findRedisServer({ path: "", cacheDir: dataDir }), message);
  });

  it.runIf(isRoot)(`a downloaded redis-server of another user is not run${unlessRoot}`, async () => {
    const home = await copyIn(dataDir);
    await chown(join(home, "redis-server"), 12_345, 12_345);
    await expectRefusal(findRedisServer({ path: "", cacheDir: dataDir }), /belongs to another user/);
  });

  it("a download gets the settings of a proxy, and none of our own variables", async () => {
    const bin = join(dataDir, "bin");
    const said = join(dataDir, "said");
    await mkdir(bin);
    await writeFile(join(bin, "apt-get"), `#!/bin/sh\n/usr/bin/env >> ${said}\nexit 100\n`, { mode: 0o755 });
    const env = { PATH: "/elsewhere", HTTPS_PROXY: "http://proxy:3128", SIMFLEET_AUTH_KEY: "a-secret", OTHER: "x" };
    await expect(findRedisServer({ path: bin, cacheDir: dataDir, env })).rejects.toThrow(
      "could be started or downloaded",
    );
    const asked = await readFile(said, "utf8");
    expect(asked).toContain("HTTPS_PROXY=http://proxy:3128");
    expect(asked).not.toMatch(/SIMFLEET|OTHER|a-secret/);
  });

  it("a missing redis-server is reported with three ways to install one", async () => {
    const script = "#!/bin/sh\necho 'E: no network' >&2\nexit 100\n";
    await writeFile(join(dataDir, "apt-get"), script, { mode: 0o755 });
    vi.stubEnv("PATH", dataDir);
    const cache = join(dataDir, "cache");
    const refusal = await findRedisServer({ path: "", cacheDir: cache }).catch((thrown: unknown) => thrown);
    expect(refusal).toMatchObject({ code: "STORE_UNAVAILABLE" });
    const { message } = refusal as Error;
    expect(message).toMatch(/^No Redis is configured and no redis-server could be started or downloaded \(.*apt-get/);
    // In one line, since a worker logs it as JSON.
    expect(message).toMatch(
      /\. Set SIMFLEET_REDIS_URL to [^\n]+, install one \(apt-get install redis-server\), or put a redis-server binary on the PATH$/,
    );
    expect(readdirSync(cache)).toEqual([]);
  });
});

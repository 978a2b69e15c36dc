/** The npm package as a user gets it: packed, installed into empty folders, started, and imported by a program. */
import { spawnSync } from "node:child_process";
import { cp, mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from "vitest";
import { type Sandbox, startSandbox } from "#sandbox/server.ts";
import { testKeys } from "../support/redis.ts";
import { root } from "./support/built-cli.ts";
import { installPackage, type InstalledPackage, npm, run } from "./support/installed-package.ts";
import { type Ended, RunningProcess } from "./support/process.ts";

const cacheHome = process.env.XDG_CACHE_HOME || join(homedir(), ".cache");
let folder: string;
let tarball: string;
let packed: InstalledPackage["packed"];
let remove: InstalledPackage["remove"] = () => Promise.resolve();
const installed = (): string => join(folder, "global", "lib", "node_modules", "simfleet");

beforeAll(async () => {
  ({ folder, tarball, packed, remove } = await installPackage());
}, 180_000);
afterAll(() => remove());

/** Runs the installed command, with nothing of this repository in its environment. */
async function simfleet(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> {
  const command = new RunningProcess({
    program: process.execPath,
    args: [join(folder, "global", "bin", "simfleet"), ...args],
    cwd: folder,
    env: { PATH: process.env.PATH ?? "", HOME: folder, XDG_CACHE_HOME: cacheHome, ...env },
  });
  return command.ended;
}

function accessTo({ url, options }: Sandbox): Readonly<Record<string, string>> {
  return {
    SIMFLEET_ENDPOINT_GLOBAL: url,
    SIMFLEET_AUTH_KEY_ID: options.authKeyId,
    SIMFLEET_AUTH_KEY: options.authKey,
  };
}

/** A change of the first three SIMs. */
async function fleetFile({ state }: Sandbox): Promise<string> {
  const rows = [0, 1, 2].map((place) => `${state.sims.simIdAt(place)},s1.fast\n`);
  await writeFile(join(folder, "fleet.csv"), `simId,speedClass\n${rows.join("")}`);
  return "fleet.csv";
}

test("the installed command prints its version and its help", async () => {
  expect(await simfleet(["--version"])).toMatchObject({ code: 0, stdout: `${packed.version}\n` });
  expect((await simfleet(["--help"])).stdout).toMatch(/^Usage: simfleet /m);
});

test("the installed command applies a file", async () => {
  const sandbox = await startSandbox({ sims: 3 });
  onTestFinished(() => sandbox.close());
  const { stdout } = await simfleet(["apply", await fleetFile(sandbox), "--yes", "--json"], {
    SIMFLEET_DATA_DIR: join(folder, "data"),
    ...accessTo(sandbox),
  });
  expect(JSON.parse(stdout)).toMatchObject({ state: "completed", counts: { total: 3, done: 3 } });
  expect(sandbox.state.sims.speedClassAt(0)).toBe("s1.fast");
});

/** A worker of a copy of the installed package, whose files a test removes. */
async function copiedWorker(
  copy: string,
  damage: (dist: string) => Promise<void> = () => Promise.resolve(),
): Promise<{ worker: RunningProcess; dist: string; env: Readonly<Record<string, string>>; sandbox: Sandbox }> {
  const sandbox = await startSandbox({ sims: 3 });
  onTestFinished(() => sandbox.close());
  const dist = join(folder, copy, "dist");
  await cp(installed(), join(folder, copy), { recursive: true });
  await damage(dist);
  const env = {
    PATH: process.env.PATH ?? "",
    HOME: folder,
    XDG_CACHE_HOME: cacheHome,
    SIMFLEET_DATA_DIR: join(folder, `${copy}-data`),
    SIMFLEET_HTTP_PORT: "0",
    ...accessTo(sandbox),
  };
  const worker = new RunningProcess({ program: process.execPath, args: [join(dist, "worker.js")], cwd: folder, env });
  onTestFinished(async () => {
    worker.kill("SIGTERM");
    await worker.ended;
  });
  return { worker, dist, env, sandbox };
}

test("a worker whose files were removed before its first call carries out a run", async () => {
  const { worker, dist, env, sandbox } = await copiedWorker("removed");
  await worker.said(/the worker is ready/);
  await rm(dist, { recursive: true });
  const { stdout } = await simfleet(["apply", await fleetFile(sandbox), "--yes", "--json"], env);
  expect(JSON.parse(stdout)).toMatchObject({ state: "completed", counts: { total: 3, done: 3 } });
});

test("a worker that lacks a file for its calls ends with 4, so that it is started again", async () => {
  const { worker } = await copiedWorker("incomplete", async (dist) => {
    for (const name of await readdir(dist)) if (/^undici-.*[.]js$/.test(name)) await rm(join(dist, name));
  });
  const { code, stderr } = await worker.ended;
  expect(stderr).toMatch(/"level":"fatal".*Cannot find module .*undici-/);
  expect(code).toBe(4);
});

test("the installed command names the version that it needs when an older Node.js starts it", async () => {
  const older = join(folder, "older.cjs");
  await writeFile(older, 'Object.defineProperty(process.versions, "node", { value: "12.22.12" });');
  const ended = await simfleet(["--version"], { NODE_OPTIONS: `--require=${older}` });
  expect(ended).toMatchObject({ code: 2, stdout: "" });
  expect(ended.stderr).toMatch(/^simfleet needs Node 24 or newer and was started with v\d.*\n$/);
});

test("an older Node.js can read the file that checks its version", async () => {
  const entry = await readFile(join(installed(), "dist", "cli.js"), "utf8");
  const code = entry.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, "");
  expect(code).not.toMatch(/^\s*import\s*[{*"a-z]|^\s*await\b|\?\.|\?\?|#[a-z]+\b.*=/m);
  expect(code).toMatch(/\bimport\("\.\/start-/);
});

test("the package contains the program with its notices, and neither sources nor local settings", async () => {
  const paths = packed.files.map(({ path }) => path);
  for (const path of ["README.md", "LICENSE", "CHANGELOG.md", "dist/THIRD-PARTY-NOTICES.txt", "dist/web/index.html"]) {
    expect(paths).toContain(path);
  }
  expect(paths.filter((path) => /^(src|test|scripts|docs|tools)\/|simfleet\.yaml$|\.map$/.test(path))).toEqual([]);
  expect(await readdir(dirname(installed()))).toEqual(["simfleet"]);
});

test("the notices name every package in the program with its license", async () => {
  const dist = join(installed(), "dist");
  const notices = await readFile(join(dist, "THIRD-PARTY-NOTICES.txt"), "utf8");
  const list = JSON.parse(await readFile(join(dist, "third-party.json"), "utf8")) as Record<string, string>[];
  expect(list.length).toBeGreaterThan(50);
  for (const { name, version, license } of list) expect(notices).toContain(`${name} ${version}\nLicense: ${license}\n`);
});

/** Uses each entry point as a program of a user would. */
const consumer = `
import { openClient, type Sim } from "simfleet/api";
import {
  openLimiter,
  readPlatformHeaders,
  readRateLimitHeaders,
  readRetryAfter,
  type FixedLimit,
  type Permit,
  type PolicyReading,
} from "simfleet/limiter";
import { type Sandbox, startSandbox } from "simfleet/sandbox";

const [redis = "", keyPrefix = ""] = process.argv.slice(2);
const sandbox = await startSandbox({ sims: 7 });
const { url: endpoint, authKeyId, authKey } = sandbox;
const client = openClient({ endpoint, authKeyId, authKey, redis, keyPrefix });
const sims: Sim[] = [];
for await (const sim of client.sims()) sims.push(sim);
const limiter = openLimiter({ redis, keyPrefix });
const permit: Permit = await limiter.acquire("default.Sim");
permit.giveBack();
const { limit } = await limiter.state("default.Sim");
const documented: FixedLimit[] = [{ limit: 5, periodMs: 1_000 }];
const alone = openLimiter({ store: "memory", limits: { documented } });
const headers = new Headers({ "RateLimit-Policy": '"burst";q=9;w=60', RateLimit: '"burst";r=8;t=60' });
const policies: PolicyReading[] = readRateLimitHeaders(headers);
const first = await alone.acquire("api");
first.sending();
first.answered({ policies, throttled: false, retryAfterMs: readRetryAfter(headers) });
await (await alone.acquire("documented")).giveBack();
const second = await alone.acquire("api", { partition: "", urgency: "priority" });
second.answered({ reading: readPlatformHeaders(headers, { brand: "Svc" }), throttled: false });
console.log(sims.length, limit, (await alone.state("api")).limit);
await Promise.all([client.close(), limiter.close(), alone.close(), sandbox.close()]);
`;

/** The one name that the consumer uses of Node.js, whose types it does not have. */
const globals = "declare const process: { argv: string[] };\n";

test("a program that installs the package can import each entry point, with types and without other packages", async () => {
  const redis = inject("redis");
  if ("failure" in redis) throw new Error(redis.failure);
  const project = join(folder, "consumer");
  await mkdir(project);
  await writeFile(join(project, "package.json"), '{ "type": "module" }');
  npm(["install", "--offline", tarball], project);
  await writeFile(join(project, "globals.d.ts"), globals);
  await writeFile(join(project, "main.ts"), consumer);
  await writeFile(join(project, "wrong.ts"), 'import { openLimiter } from "simfleet/limiter";\nopenLimiter({});\n');
  const compile = (file: string): string => {
    const options = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2024", "--lib", "es2024,dom"];
    const compiler = join(root, "node_modules", "typescript", "bin", "tsc");
    const { stdout } = spawnSync(process.execPath, [compiler, ...options, "--types", "", "globals.d.ts", file], {
      cwd: project,
      encoding: "utf8",
    });
    return stdout;
  };
  expect(compile("main.ts")).toBe("");
  expect(compile("wrong.ts")).toMatch(
    /^wrong\.ts\(2,\d+\): error TS2345: Argument of type '{}' is not assignable to parameter of type 'LimiterOptions'/,
  );
  const args = ["main.ts", redis.url, testKeys().prefix];
  expect(run(process.execPath, args, { cwd: project, env: { PATH: process.env.PATH } })).toBe("7 600 9\n");
});

/** The npm package as a user gets it: packed, installed into empty folders, and started. */
import { cp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type Sandbox, startSandbox } from "#sandbox/server.ts";
import { installPackage } from "./support/installed-package.ts";
import { type Ended, RunningProcess } from "./support/process.ts";

const { folder, packed } = await installPackage();
const installed = (): string => join(folder, "global", "lib", "node_modules", "simfleet");

/** An environment with nothing of this repository. */
const outside = {
  PATH: process.env.PATH ?? "",
  HOME: folder,
  XDG_CACHE_HOME: process.env.XDG_CACHE_HOME || join(homedir(), ".cache"),
};

/** Runs the installed command. */
async function simfleet(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> {
  const command = new RunningProcess({
    program: process.execPath,
    args: [join(folder, "global", "bin", "simfleet"), ...args],
    cwd: folder,
    env: { ...outside, ...env },
  });
  return command.ended;
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

/** A worker of a copy of the installed package, whose files a test removes. */
async function copiedWorker(copy: string, damage?: (dist: string) => Promise<void>) {
  const sandbox = await startSandbox({ sims: 3 });
  onTestFinished(() => sandbox.close());
  const dist = join(folder, copy, "dist");
  await cp(installed(), join(folder, copy), { recursive: true });
  await damage?.(dist);
  const env = {
    ...outside,
    SIMFLEET_DATA_DIR: join(folder, `${copy}-data`),
    SIMFLEET_HTTP_PORT: "0",
    SIMFLEET_ENDPOINT_GLOBAL: sandbox.url,
    SIMFLEET_AUTH_KEY_ID: sandbox.options.authKeyId,
    SIMFLEET_AUTH_KEY: sandbox.options.authKey,
  };
  const worker = new RunningProcess({ program: process.execPath, args: [join(dist, "worker.js")], cwd: folder, env });
  onTestFinished(async () => {
    await worker.end();
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

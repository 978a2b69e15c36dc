/**
 * The worker as the container runs it, without an engine: the program in a folder of root's, and a process of another
 * user who may write to the data folder alone.
 */
import { spawnSync } from "node:child_process";
import { chmod, chown, cp, lstat, mkdir, mkdtemp, readFile, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { isRoot, unlessRoot } from "../support/left-out.ts";
import { isLong } from "../support/long.ts";
import { builtCli } from "./support/built-cli.ts";
import { RunningProcess } from "./support/process.ts";
import { CliHarness } from "./support/cli-harness.ts";

/** As in the Dockerfile. */
const user = 10_001;

/** The program without packages, as in the image, and a Node that everybody may start. */
async function productionTree(): Promise<Record<"node" | "cli" | "worker" | "tree" | "data" | "folder", string>> {
  const folder = await mkdtemp(join(tmpdir(), "simfleet-image-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }));
  await chmod(folder, 0o755);
  const [tree, data, node] = [join(folder, "app"), join(folder, "data"), join(folder, "node")];
  const built = dirname(dirname((await builtCli()).path));
  for (const part of ["dist", "config", "package.json"])
    await cp(join(built, part), join(tree, part), { recursive: true });
  await cp(process.execPath, node);
  await mkdir(data, { mode: 0o700 });
  await chown(data, user, user);
  const readOnly = spawnSync("chmod", ["-R", "a+rX,a-w", tree, node]);
  expect(readOnly.status).toBe(0);
  return { folder, node, tree, data, cli: join(tree, "dist", "cli.js"), worker: join(tree, "dist", "worker.js") };
}

/** Every file of a folder with what a change of it would change. */
async function stateOf(folder: string): Promise<string[]> {
  const paths = await readdir(folder, { recursive: true });
  const states = paths.map(async (path) => {
    const { size, mtimeMs, uid, mode } = await lstat(join(folder, path));
    return [path, size, mtimeMs, uid, mode].join(" ");
  });
  return (await Promise.all(states)).toSorted();
}

/** Owners of all files of a folder that are still there: its Redis is just ending. */
async function ownersIn(folder: string): Promise<Set<number>> {
  const found = (await readdir(folder, { recursive: true })).map((path) => lstat(join(folder, path)));
  const there = (await Promise.allSettled(found)).filter((one) => one.status === "fulfilled");
  return new Set(there.map(({ value }) => value.uid));
}

/** Writes to a file as the user. @returns `written`, or the code of the error */
function writeAsUser(node: string, path: string): string {
  const script = `
    try {
      require("node:fs").writeFileSync(${JSON.stringify(path)}, "x");
      console.log("written");
    } catch (error) {
      console.log(error.code);
    }`;
  return spawnSync(node, ["-e", script], { encoding: "utf8", cwd: "/", uid: user, gid: user }).stdout.trim();
}

/** A worker of the user that is ready. */
async function workerOf({ node, worker: entry, tree, data, folder }: Awaited<ReturnType<typeof productionTree>>) {
  // The image holds no Redis; here the worker starts the one that the tests have fetched.
  const cache = join(folder, "cache");
  await cp(inject("cacheDir"), join(cache, "simfleet"), { recursive: true });
  expect(spawnSync("chmod", ["-R", "a+rX,a-w", cache]).status).toBe(0);
  const harness = await CliHarness.open();
  const changes = { SIMFLEET_DATA_DIR: data, XDG_CACHE_HOME: cache, HOME: "/nonexistent", NODE_ENV: "production" };
  const env = { ...harness.env, ...changes };
  const worker = new RunningProcess({ program: node, args: [entry], cwd: tree, user, env });
  onTestFinished(async () => {
    await worker.end();
    await harness[Symbol.asyncDispose]();
  });
  await worker.said(/the worker is ready/);
  return worker;
}

describe.runIf(isRoot && isLong)(`a worker of another user${unlessRoot}`, () => {
  // Shows S14.
  test("a worker of another user starts from a read-only program folder and writes only to its data folder", async () => {
    const image = await productionTree();
    const { node, cli, tree, data, folder } = image;
    const before = await stateOf(tree);
    const worker = await workerOf(image);
    const status = await readFile(`/proc/${worker.pid}/status`, "utf8");
    expect(status).toMatch(new RegExp(`^Uid:\\s+${user}\\s+${user}\\s+${user}\\s+${user}$`, "m"));
    expect(status).toMatch(/^CapEff:\s+0+$/m);
    for (const path of [join(tree, "stray"), cli, node, "/etc/stray", join(folder, "stray")])
      expect([path, writeAsUser(node, path)]).toEqual([path, "EACCES"]);
    expect(writeAsUser(node, join(data, "note"))).toBe("written");
    await worker.end();
    expect(await stateOf(tree)).toEqual(before);
    expect(await ownersIn(data)).toEqual(new Set([user]));
  });
});

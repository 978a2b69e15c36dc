/**
 * What happens to careful people on an ordinary day: the installed command in a shell, in the wrong folder, as another
 * user.
 */
import { chmod, chown, cp, lstat, mkdir, mkdtemp, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import type { SandboxOptions } from "#sandbox/options.ts";
import { startSandbox } from "#sandbox/server.ts";
import type { RunReport } from "#jobs/runs/contract.ts";
import { isLong } from "../support/long.ts";
import { until } from "../support/until.ts";
import { installPackage } from "./support/installed-package.ts";
import { RunningProcess } from "./support/process.ts";
import { isRoot, unlessRoot } from "../support/left-out.ts";

/** As in the Dockerfile. */
const user = 10_001;
const installed = await installPackage();

type Environment = Readonly<Record<string, string>>;

/**
 * A user with a home, in a shell in which `simfleet` is the installed command.
 * @param id absent: the user of the tests
 */
async function personWithHome(id?: number) {
  const home = await mkdtemp(join(installed.folder, "home-"));
  await chmod(home, 0o755);
  if (id !== undefined) await chown(home, id, id);
  const own = { PATH: `${installed.bin}:${process.env.PATH}`, HOME: home, XDG_CACHE_HOME: inject("cacheHome") };
  const shell = (script: string, env: Environment = {}, cwd = home): RunningProcess => {
    const runAs = id === undefined ? {} : { user: id };
    const running = new RunningProcess({
      program: "/bin/bash",
      args: ["-c", script],
      cwd,
      env: { ...own, ...env },
      ...runAs,
    });
    onTestFinished(async () => {
      await running.end();
    });
    return running;
  };
  return { home, shell };
}

type Configured = Awaited<ReturnType<typeof configured>>;

/**
 * A configured working folder: its worker is the one that people want to reach.
 * @param id the user who owns it and its secrets; absent: the user of the tests
 */
async function configured(options: Partial<SandboxOptions> = {}, id?: number) {
  const sandbox = await startSandbox({ sims: 20, periodSeconds: 2, ...options });
  onTestFinished(() => sandbox.close());
  const owner = await personWithHome(id);
  const folder = join(owner.home, "fleet");
  await mkdir(join(folder, "config"), { recursive: true });
  await writeFile(join(folder, "auth-key"), sandbox.options.authKey, { mode: 0o600 });
  const credentials = `{ authKeyId: ${sandbox.options.authKeyId}, authKeyFile: ${join(folder, "auth-key")} }`;
  const yaml = [
    `dataDir: ${join(folder, "data")}`,
    "limits: { periodSeconds: 2 }",
    `endpoints: { global: "${sandbox.url}" }`,
    `http: { port: 0 }`,
    `profiles: { default: { credentials: ${credentials} } }`,
  ].join("\n");
  await writeFile(join(folder, "config", "simfleet.yaml"), yaml);
  if (id !== undefined) for (const path of [folder, join(folder, "auth-key")]) await chown(path, id, id);
  return { owner, folder, yaml, sandbox };
}

describe("where simfleet has no data", () => {
  test.runIf(isRoot).each(["freeze on --yes --reason 'incident 12'", "runs list"])(
    `simfleet %s says so to another user, and makes none${unlessRoot}`,
    async (command) => {
      const person = await personWithHome(user);
      const { code, stdout, stderr } = await person.shell(`simfleet ${command}`).ended;
      expect([code, stdout]).toEqual([2, ""]);
      expect(stderr).toContain(`No data of simfleet was found in ${person.home}/.local/share/simfleet`);
      expect(stderr).toContain("no other is named in config/simfleet.yaml or /etc/simfleet/simfleet.yaml");
      expect(stderr).toMatch(/^simfleet: .*--server\n$/);
      expect(await readdir(person.home)).toEqual([]);
    },
  );
});

test("a freeze names the data and the workers that it reached, and another folder reaches none", async () => {
  const { owner, folder } = await configured();
  const worker = owner.shell("exec simfleet worker", {}, folder);
  await worker.said(/the worker is ready/);
  const elsewhere = await owner.shell("simfleet freeze on --yes --reason 'incident 12'").ended;
  expect(elsewhere.code).toBe(2);
  expect(elsewhere.stderr).toContain(`No data of simfleet was found in ${owner.home}/.local/share/simfleet`);
  const there = await owner.shell("simfleet freeze on --yes --reason 'incident 12'", {}, folder).ended;
  expect(there.stdout).toContain("default: frozen: ");
  expect(there.stdout).toContain(`data: embedded, in ${folder}/data/redis\ndefault: 1 worker reached\n`);
  expect(there.code).toBe(0);
});

/** A worker of another user, and root, who commands it with the configuration of that user. */
async function setupRoot() {
  const { owner, folder } = await configured({}, user);
  const root = await personWithHome();
  const env = { SIMFLEET_CONFIG: `${folder}/config/simfleet.yaml` };
  const cache = await mkdtemp(join(installed.folder, "cache-of-another-"));
  await cp(inject("cacheDir"), join(cache, "simfleet"), { recursive: true });
  await root.shell(`chmod -R a+rX,a-w ${cache}`).ended;
  const worker = owner.shell("exec simfleet worker", { XDG_CACHE_HOME: cache }, folder);
  await worker.said(/the worker is ready/);
  return { worker, data: join(folder, "data"), asRoot: (words: string) => root.shell(`simfleet ${words}`, env).ended };
}

const changing = ["freeze on --yes --reason x", "freeze off"];

describe.runIf(isRoot && isLong)(`root next to a worker of another user${unlessRoot}`, () => {
  test("root freezes changes and reads runs, but not the secrets of the other user", async () => {
    const { asRoot } = await setupRoot();
    for (const words of [...changing, "runs list", "audit list"]) {
      expect(await asRoot(words)).toMatchObject({ code: 0, stderr: "" });
    }
    const { code, stderr } = await asRoot("sims sync");
    expect(code).toBe(2);
    expect(stderr).toContain(
      `auth-key belongs to another user (ID ${user}), who can change it. Run simfleet as that user`,
    );
    expect(stderr).not.toContain("chown");
  });

  test("root starts no Redis after the worker, and leaves nothing that the other user could not change", async () => {
    const { worker, data, asRoot } = await setupRoot();
    for (const words of [...changing, "sims sync"]) await asRoot(words);
    expect((await worker.end()).code).toBe(0);
    let late = { code: 0, stderr: "" };
    await until("the worker's Redis has ended", async () => (late = await asRoot("freeze status")).code !== 0);
    expect([late.code, late.stderr]).toEqual([4, expect.stringContaining("whose embedded Redis does not run")]);
    const paths = await readdir(data, { recursive: true });
    const owners = await Promise.all(paths.map(async (path) => (await lstat(join(data, path))).uid));
    expect(new Set(owners)).toEqual(new Set([user]));
  });
});

test.runIf(isRoot && isLong)(`every folder finds the configuration in /etc/simfleet${unlessRoot}`, async () => {
  const { owner, folder, yaml } = await configured();
  await owner.shell("simfleet sims sync", {}, folder).ended;
  // A copy of /etc that this shell alone sees.
  const etc = await mkdtemp(join(installed.folder, "etc-"));
  await writeFile(join(etc, "simfleet.yaml"), yaml);
  const mounted = `unshare --mount bash -c 'cp -a /etc ${etc}/copy && mkdir ${etc}/copy/simfleet &&
    cp ${etc}/simfleet.yaml ${etc}/copy/simfleet && mount --bind ${etc}/copy /etc && simfleet sims count'`;
  expect(await owner.shell(mounted).ended).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("20") as string,
  });
});

/** Files for all SIMs. */
async function withFiles(options: Partial<SandboxOptions>, ...names: readonly string[]): Promise<Configured> {
  const made = await configured(options);
  const { sims } = made.sandbox.state;
  const rows = Array.from({ length: sims.count }, (_, n) => `${sims.simIdAt(n)},s1.fast\n`).join("");
  for (const name of names) await writeFile(join(made.folder, name), `simId,speedClass\n${rows}`);
  return made;
}

/** The same, at a quota of ten calls per window. */
const hours = (...names: readonly string[]) => withFiles({ limits: { Sim: 10 }, sims: 40 }, ...names);

/** Types the script into a terminal of its own, which closes with the returned process. */
function onTerminal({ owner, folder }: Configured, script: string): RunningProcess {
  return owner.shell(`exec script -qfec '${script}' /dev/null`, { SHELL: "/bin/bash" }, folder);
}

function changes({ sandbox: { state } }: Configured): number {
  return Array.from({ length: state.sims.count }, (_, n) => state.sims.acceptedAt(n)).reduce((sum, n) => sum + n, 0);
}

async function runsOf({ owner, folder }: Configured): Promise<readonly RunReport[]> {
  const { stdout } = await owner.shell("simfleet runs list --json", {}, folder).ended;
  return (JSON.parse(stdout) as { runs: RunReport[] }).runs;
}

describe("signals", () => {
  test("a terminal that is closed stops apply as Ctrl-C does", async () => {
    const day = await hours("fleet.csv");
    const terminal = onTerminal(day, "simfleet apply fleet.csv --yes");
    await until("calls were made", () => changes(day) >= 10);
    terminal.kill("SIGKILL");
    await until("the run is paused", async () => (await runsOf(day))[0]?.state === "paused", 30_000);
    const [run] = await runsOf(day);
    expect(run).toMatchObject({ reason: "stopped by SIGHUP", counts: { unknown: 0, failed: 0, done: changes(day) } });
  });

  test("a worker outlives SIGHUP, SIGUSR1 and SIGUSR2, and opens no port for debuggers", async () => {
    const { owner, folder } = await configured();
    const worker = owner.shell("exec simfleet worker", {}, folder);
    await worker.said(/the worker is ready/);
    worker.kill("SIGUSR1");
    worker.kill("SIGUSR2");
    worker.kill("SIGHUP");
    await worker.said(/the configuration was read: its tasks are the same/);
    const { code, stderr } = await worker.end();
    expect(code).toBe(0);
    expect(stderr).not.toMatch(/debugger/i);
  });

  test("Ctrl-C stops the loop of a shell, after apply has paused its run", async () => {
    const day = await hours("a.csv", "b.csv");
    const { owner, folder } = day;
    const loop = 'for f in a b; do echo "file $f"; simfleet apply $f.csv --yes; done';
    // A terminal sends SIGINT to all processes of the shell.
    const shell = owner.shell(`exec setsid --wait bash -c 'echo "group $$"; ${loop}'`, {}, folder);
    const [, group = ""] = await shell.said(/group (\d+)/, "stdout");
    await until("calls were made", () => changes(day) >= 10);
    process.kill(-Number(group), "SIGINT");
    const { code, stdout, stderr } = await shell.ended;
    expect([code, stdout.match(/file ./g)]).toEqual([130, ["file a"]]);
    expect(stderr).toMatch(/Paused\. \d+ rows left; nothing is lost\./);
    expect((await runsOf(day)).map(({ state }) => state)).toEqual(["paused"]);
  });
});

test.runIf(isLong)("output that is not written, or only in part, is exit code 4 with the reason", async () => {
  const { owner, folder } = await withFiles({ sims: 400, limits: { Sim: 2_000 } }, "fleet.csv");
  const { stdout } = await owner.shell("simfleet sims sync && simfleet apply fleet.csv --yes", {}, folder).ended;
  const [runId] = /r-\d{8}-\d{6}-\w+/.exec(stdout) ?? [];
  const long = ["schema", "sims list -n 400", "sims export", `runs results ${runId} --json`];
  const lines = (commands: readonly string[], to: string): string =>
    commands.map((command) => `simfleet ${command} > ${to}; echo $? >&2\n`).join("");
  // In a mount namespace, which ends with its shell.
  const small = `unshare --mount bash -s <<'END'\nmkdir small; mount -t tmpfs -o size=4k none small\n${lines(long, "small/out")}END\n`;
  const script = `${lines([...long, "--help"], "/dev/full")}${isRoot ? small : ""}`;
  const { stderr } = await owner.shell(script, {}, folder).ended;
  const lost = ["simfleet: the output could not be written: ENOSPC: no space left on device, write", "4"];
  const given = [...long, "--help", ...(isRoot ? long : [])];
  expect(stderr.trim().split("\n")).toEqual(given.flatMap(() => lost));
});

/**
 * What happens to careful people on an ordinary day: the installed command in a shell, in the wrong folder, as another user.
 */
import { chmod, chown, mkdir, mkdtemp, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from "vitest";
import { startSandbox } from "#sandbox/server.ts";
import { installPackage, type InstalledPackage } from "./support/installed-package.ts";
import { RunningProcess } from "./support/process.ts";

/** As in the Dockerfile. */
const user = 10_001;
const isRoot = process.getuid?.() === 0;
let installed: InstalledPackage;

beforeAll(async () => {
  installed = await installPackage();
}, 180_000);
afterAll(() => installed.remove());

type Environment = Readonly<Record<string, string>>;

/** A person with a home, in a shell in which `simfleet` is the installed command. */
class Person {
  readonly home: string;
  readonly #id: number | undefined;

  private constructor(home: string, id: number | undefined) {
    this.home = home;
    this.#id = id;
  }

  /** @param id absent: the user of the tests */
  static async withHome(id?: number): Promise<Person> {
    const home = await mkdtemp(join(installed.folder, "home-"));
    await chmod(home, 0o755);
    if (id !== undefined) await chown(home, id, id);
    return new Person(home, id);
  }

  shell(script: string, env: Environment = {}, cwd = this.home): RunningProcess {
    const shell = new RunningProcess({
      program: "/bin/bash",
      args: ["-c", script],
      cwd,
      env: {
        PATH: `${installed.bin}:${process.env.PATH}`,
        HOME: this.home,
        XDG_CACHE_HOME: inject("cacheHome"),
        ...env,
      },
      ...(this.#id === undefined ? {} : { user: this.#id }),
    });
    onTestFinished(async () => {
      shell.kill("SIGTERM");
      await shell.ended;
    });
    return shell;
  }
}

/** A configured working folder: its worker is the one that people want to reach. */
async function configured(): Promise<{ owner: Person; folder: string; yaml: string }> {
  const sandbox = await startSandbox({ sims: 20 });
  onTestFinished(() => sandbox.close());
  const owner = await Person.withHome();
  const folder = join(owner.home, "fleet");
  await mkdir(join(folder, "config"), { recursive: true });
  await writeFile(join(folder, "auth-key"), sandbox.options.authKey, { mode: 0o600 });
  const credentials = `{ authKeyId: ${sandbox.options.authKeyId}, authKeyFile: ${join(folder, "auth-key")} }`;
  const yaml = [
    `dataDir: ${join(folder, "data")}`,
    `endpoints: { global: "${sandbox.url}" }`,
    `http: { port: 0 }`,
    `profiles: { default: { credentials: ${credentials} } }`,
  ].join("\n");
  await writeFile(join(folder, "config", "simfleet.yaml"), yaml);
  return { owner, folder, yaml };
}

describe("where simfleet has no data", () => {
  const commands = [
    "freeze on --reason 'incident 12'",
    "freeze status",
    "runs list",
    "runs pause r-20261124-100000-aaaa",
    "sims count",
    "schedules pause nightly-sync",
    "quota",
    "events tail",
  ];

  test.runIf(isRoot).each(commands)("`simfleet %s` says so to another user, and makes none", async (command) => {
    const person = await Person.withHome(user);
    const { code, stdout, stderr } = await person.shell(`simfleet ${command}`).ended;
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(`No data of simfleet was found in ${person.home}/.local/share/simfleet`);
    expect(stderr).toContain("no other is named in config/simfleet.yaml or /etc/simfleet/simfleet.yaml");
    expect(stderr).toMatch(/^simfleet: .*--server\n$/);
    expect(await readdir(person.home)).toEqual([]);
  });

  test("a freeze does not make a data directory that the configuration names", async () => {
    const person = await Person.withHome();
    const env = { SIMFLEET_DATA_DIR: join(person.home, "mistyped") };
    const { code, stderr } = await person.shell("simfleet freeze on --reason 'incident 12'", env).ended;
    expect([code, await readdir(person.home)]).toEqual([2, []]);
    expect(stderr).toContain(`No data of simfleet was found in ${person.home}/mistyped. Nothing was done.`);
  });
});

test("a freeze names the data and the workers that it reached, and another folder reaches none", async () => {
  const { owner, folder } = await configured();
  const worker = owner.shell("exec simfleet worker", {}, folder);
  await worker.said(/the worker is ready/);
  const elsewhere = await owner.shell("simfleet freeze on --reason 'incident 12'").ended;
  expect(elsewhere.code).toBe(2);
  expect(elsewhere.stderr).toContain(`No data of simfleet was found in ${owner.home}/.local/share/simfleet`);
  const there = await owner.shell("simfleet freeze on --reason 'incident 12'", {}, folder).ended;
  expect(there.stdout).toContain("default: frozen: ");
  expect(there.stdout).toContain(`data: embedded, in ${folder}/data/redis\ndefault: 1 worker reached\n`);
  expect(there.code).toBe(0);
});

test.runIf(isRoot)("every folder of a machine finds the configuration in /etc/simfleet", async () => {
  const { owner, folder, yaml } = await configured();
  await owner.shell("simfleet sims sync", {}, folder).ended;
  // A copy of /etc that this shell alone sees.
  const etc = await mkdtemp(join(installed.folder, "etc-"));
  await writeFile(join(etc, "simfleet.yaml"), yaml);
  const mounted = `unshare --mount bash -c 'cp -a /etc ${etc}/copy && mkdir ${etc}/copy/simfleet &&
    cp ${etc}/simfleet.yaml ${etc}/copy/simfleet && mount --bind ${etc}/copy /etc && simfleet sims count'`;
  expect(await owner.shell(mounted).ended).toMatchObject({ code: 0, stdout: expect.stringContaining("20") as string });
});

/**
 * An environment for end-to-end tests: a folder, the sandbox as the platform, an embedded Redis in a data directory,
 * and real processes of the built command line. `await using` cleans everything up, whatever happened.
 */
import { copyFile, mkdtemp, readFile, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Redis } from "ioredis";
import { inject } from "vitest";
import { redisConnections } from "#redis/connection.ts";
import { attachRedis } from "#redis/embedded/embedded.ts";
import type { SandboxOptions } from "#sandbox/options.ts";
import { startSandbox } from "#sandbox/server.ts";
import type { RunReport } from "#jobs/runs/contract.ts";
import { until } from "../../support/until.ts";
import { builtCli, root } from "./built-cli.ts";
import { type Ended, RunningProcess } from "./process.ts";
import { runCommand } from "./run-command.ts";

type Environment = Readonly<Record<string, string>>;

export interface CliHarnessOptions extends Partial<SandboxOptions> {
  /** Overrides of the settings that reach the sandbox; an empty text removes one. */
  readonly env?: Environment;
  /** The configuration file; its relative paths start in the folder, which has a `seal-key`. */
  readonly config?: string;
  /** Files with secrets, by name. */
  readonly secretFiles?: Readonly<Record<string, string>>;
  /** Rows of the file `fleet.csv`, which is written at once. */
  readonly rows?: number;
  /** The platform definition soracom, on a sandbox that has all of its operations. */
  readonly isSoracom?: true;
  /** Starts a process for each command, as a shell does: for what a process keeps in memory or leaves behind. */
  readonly isProcessPerCommand?: boolean;
}

/** Takes the AuthKey of the harness out of its settings. */
export const noAuthKey = { SIMFLEET_AUTH_KEY_ID: "", SIMFLEET_AUTH_KEY: "" } as const;

/** A run as `--json` shows it. */
export type RunDocument = RunReport & { readonly results?: string };

/** Windows are 2 s long and their limits high, so that tests are fast; every option can be set. */
async function open({
  env: given,
  config,
  secretFiles = {},
  rows: fleetRows,
  isSoracom,
  isProcessPerCommand = false,
  ...sandboxOptions
}: CliHarnessOptions = {}) {
  const cli = await builtCli();
  const folder = await mkdtemp(join(tmpdir(), "harness-"));
  const ofSoracom = isSoracom ? { Credential: 1_000, Group: 1_000, Operator: 600 } : { Credential: 60 };
  const sandbox = await startSandbox({
    periodSeconds: 2,
    ...(isSoracom && { operations: "all" }),
    ...sandboxOptions,
    limits: { Sim: 2_000, Auth: 1_000, ...ofSoracom, ...sandboxOptions.limits },
  });
  const configFiles = config === undefined ? {} : { "simfleet.yaml": config, "seal-key": "5ea1".repeat(16) };
  for (const [name, text] of Object.entries({ ...configFiles, ...secretFiles }))
    await writeFile(join(folder, name), text, { mode: 0o600 });
  const settings = {
    PATH: process.env.PATH ?? "",
    HOME: folder,
    XDG_CACHE_HOME: inject("cacheHome"),
    SIMFLEET_DATA_DIR: join(folder, "data"),
    SIMFLEET_HTTP_PORT: "0",
    SIMFLEET_ENDPOINT_GLOBAL: sandbox.url,
    SIMFLEET_AUTH_KEY_ID: sandbox.options.authKeyId,
    SIMFLEET_AUTH_KEY: sandbox.options.authKey,
    SIMFLEET_RATE_PERIOD_SECONDS: String(sandbox.options.periodSeconds),
    ...(config !== undefined && { SIMFLEET_CONFIG: "simfleet.yaml" }),
    ...(isSoracom && { SIMFLEET_DEPLOYMENT: "soracom", SIMFLEET_BRAND: "Svc", SIMFLEET_COVERAGE: "g" }),
  };
  const processes: RunningProcess[] = [];
  const disposed = new AbortController();
  const commands = new Set<Promise<unknown>>();
  let attached: ReturnType<typeof attach> | undefined;
  const harness = {
    folder,
    sandbox,
    env: { ...settings, ...given } as Environment,

    /** Starts a command; `env` overrides the harness's own variables. */
    start(args: readonly string[], env: Environment = {}): RunningProcess {
      const { path, compileCache } = cli;
      return this.startProgram(process.execPath, [path, ...args], { NODE_COMPILE_CACHE: compileCache, ...env });
    },

    /** Starts any program with the same environment. */
    startProgram(program: string, args: readonly string[], env: Environment = {}): RunningProcess {
      const started = new RunningProcess({ program, args, env: { ...this.env, ...env }, cwd: this.folder });
      processes.push(started);
      return started;
    },

    /** Runs a command until it ends; use `start` for one that gets a signal or is killed. */
    async run(args: readonly string[], env: Environment = {}): Promise<Ended> {
      if (isProcessPerCommand) return this.start(args, env).ended;
      // A command follows the one before within milliseconds, when the embedded Redis of that one would just be
      // stopping.
      if (!("SIMFLEET_REDIS_URL" in this.env) && this.env.SIMFLEET_DATA_DIR === join(this.folder, "data")) {
        await this.redis();
      }
      const request = { cli, args, env: { ...this.env, ...env }, cwd: this.folder };
      const running = runCommand(request, disposed.signal);
      commands.add(running);
      return running.finally(() => commands.delete(running));
    },

    /** Runs a command with `--json` and parses its output, which must be exactly one document. */
    // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- a document is what its reader says it is
    async json<T = RunDocument>(args: readonly string[], env: Environment = {}): Promise<Ended & { document: T }> {
      const ended = await this.run([...args, "--json"], env);
      try {
        return { ...ended, document: JSON.parse(ended.stdout) as T };
      } catch {
        throw new Error(`simfleet ${args.join(" ")} ended with ${ended.code}:\n${ended.stdout}${ended.stderr}`);
      }
    },

    /** A command as typed into a shell. */
    commandLine(args: readonly string[]): string {
      return [process.execPath, cli.path, ...args].map((word) => `'${word}'`).join(" ");
    },

    /** A shell line in which `simfleet` is the command. */
    shell(line: string, env: Environment = {}): RunningProcess {
      const simfleet = `simfleet() { ${this.commandLine([])} "$@"; }`;
      return this.startProgram("/bin/bash", ["-c", `${simfleet}; ${line}`], env);
    },

    /** Asks the control API of a worker that is ready, as its administrator. */
    async ask({ stderr }: RunningProcess, path: string, init: RequestInit = {}): Promise<Response> {
      const [, url = ""] = /.*"http":"([^"]+)"/s.exec(stderr) ?? [];
      const token = (await readFile(join(this.env.SIMFLEET_DATA_DIR ?? "", "admin-token"), "utf8")).trim();
      const headers = new Headers(init.headers);
      headers.set("authorization", `Bearer ${token}`);
      return fetch(url + path, { ...init, headers });
    },

    /** A worker that is ready. */
    async worker(env: Environment = {}): Promise<RunningProcess> {
      const worker = this.start(["worker"], env);
      await worker.said(/the worker is ready/);
      return worker;
    },

    path(name: string): string {
      return join(this.folder, name);
    },

    async write(name: string, content: string | Buffer): Promise<string> {
      // A configuration that contains secrets must be private.
      await writeFile(this.path(name), content, name.endsWith(".yaml") ? { mode: 0o600 } : {});
      return name;
    },

    read(name: string): Promise<string> {
      return readFile(this.path(name), "utf8");
    },

    /** Copies a file of examples/ into the folder. */
    async example(name: string): Promise<string> {
      await copyFile(join(root, "examples", name), this.path(name));
      return name;
    },

    /** Names of the files in the folder with this ending. */
    async files(ending: string): Promise<string[]> {
      return (await readdir(this.folder)).filter((name) => name.endsWith(ending)).toSorted();
    },

    /** A file for the first `rows` SIMs of the sandbox, cycling through the classes. */
    async fleet(name: string, rows: number, classes: readonly string[] = ["s1.slow", "s1.fast"]): Promise<string> {
      const lines = Array.from(
        { length: rows },
        (_, n) => `${this.simId(n)},${classes[n % classes.length]},asset-${n}\n`,
      );
      return this.write(name, `simId,speedClass,asset\n${lines.join("")}`);
    },

    simId(index: number): string {
      return this.sandbox.state.sims.simIdAt(index);
    },

    /** Number of changes that the platform has carried out so far. */
    get changes(): number {
      const { sims } = this.sandbox.state;
      let sum = 0;
      for (let n = 0; n < sims.count; n += 1) sum += sims.acceptedAt(n);
      return sum;
    },

    /** Resolves when the platform has carried out this many changes. */
    async untilChanges(count: number): Promise<void> {
      await until(`${count} changes were made`, () => this.changes >= count);
    },

    /** Resolves when a run is in this state. */
    async untilState(runId: string, state: string): Promise<void> {
      const redis = await this.redis();
      await until(
        `${runId} is ${state}`,
        async () => (await redis.hget(`{simfleet}:run:${runId}`, "state")) === state,
        60_000,
      );
    },

    /** A connection to the harness's own Redis, which stays up until the end of the test. */
    async redis(): Promise<Redis> {
      attached ??= attach(this.env);
      return (await attached).connection;
    },

    /** Process id of the embedded redis-server. */
    async redisPid(): Promise<number> {
      return Number((await this.read("data/redis/redis.pid")).trim());
    },

    async [Symbol.asyncDispose](): Promise<void> {
      const alive = processes.filter(({ child }) => child.exitCode === null && child.signalCode === null);
      for (const { child } of alive) child.kill("SIGKILL");
      await Promise.all(processes.map(({ ended }) => ended));
      disposed.abort();
      await Promise.allSettled(commands);
      const redis = await attached?.catch(() => undefined);
      await redis?.connections.close();
      await redis?.embedded.close();
      await this.sandbox.close();
      await until("the embedded Redis is gone", () => isGone(join(this.folder, "data", "redis", "redis.sock")));
      await rm(this.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
    },
  };
  if (fleetRows !== undefined) await harness.fleet("fleet.csv", fleetRows);
  return harness;
}

export type CliHarness = Awaited<ReturnType<typeof open>>;

export const CliHarness = { open };

async function attach(env: Environment) {
  const dataDir = env.SIMFLEET_DATA_DIR ?? "";
  const embedded = await attachRedis({
    dataDir,
    cacheDir: inject("cacheDir"),
    path: process.env.PATH ?? "",
  });
  const connections = redisConnections(embedded);
  return { embedded, connections, connection: connections.connect("harness") };
}

function isGone(path: string): Promise<boolean> {
  return stat(path).then(
    () => false,
    () => true,
  );
}

/**
 * What every command receives: the common options, the configuration, and a caller for either the local app or a remote
 * worker (`--server`). It opens and closes the app, writes the audit entry of a command that changes something, and
 * asks for confirmation. It holds no command of its own.
 */
import { randomUUID } from "node:crypto";
import { hostname, userInfo } from "node:os";
import { join } from "node:path";
import { type Command, InvalidArgumentError, Option } from "@commander-js/extra-typings";
import { App } from "#app/app.ts";
import { endpointsOf, type FeatureRoutes } from "#app/endpoints.ts";
import { type Client, localClient } from "#contract/client.ts";
import type { Config } from "#config/config.ts";
import type { FeatureSection } from "#config/setting.ts";
import { readSecretFile } from "#config/secrets/secret-file.ts";
import { loadConfig } from "#config/load.ts";
import { messageOf, SimfleetError } from "#core/errors.ts";
import { isLoopback } from "#core/loopback.ts";
import { Secret } from "#core/secret.ts";
import { systemClock } from "#core/time.ts";
import { visible } from "#core/visible-text.ts";
import { onePlan } from "#jobs/runs/plan/one-plan.ts";
import { createLogger } from "#telemetry/logger.ts";
import type { CommandEffect } from "./command-effects.ts";
import { type EventChoice, type EventSource, localEvents } from "./event-source.ts";
import { remoteEvents } from "./remote-event-source.ts";
import { RemoteWorker } from "./remote-worker.ts";
import { Output, type TextSink } from "./output.ts";

/** The process environment of a command, passed in by the entry point. */
export interface ProcessIo {
  readonly env: NodeJS.ProcessEnv;
  readonly stdout: TextSink;
  readonly stderr: TextSink;
  readonly stdin: NodeJS.ReadStream;
  /** Aborts at the first Ctrl-C or TERM. */
  readonly interrupt: AbortSignal;
  /** Sets the exit code of the process. */
  setExitCode(code: number): void;
}

/** Options that every command has. */
export interface CommonOptions {
  readonly config?: string | undefined;
  readonly profile?: string | undefined;
  readonly json?: boolean | undefined;
  readonly server?: string | undefined;
}

type WithCommon<A extends unknown[], O> = Command<
  A,
  O & { config?: string; profile?: string; server?: string; json?: true }
>;

const serverOption = (): Option =>
  new Option("--server <url>", "send the command to this worker's API (default: SIMFLEET_SERVER)");

/** Adds the common options and an example to a command that also works with `--server`. */
export function withCommon<A extends unknown[], O extends Record<string, unknown>>(
  command: Command<A, O>,
  example: string,
): WithCommon<A, O> {
  return withOptions(command, example, serverOption());
}

/** As `withCommon`, for a command that only works locally: `--server` is hidden and rejected with a message. */
export function withLocalOptions<A extends unknown[], O extends Record<string, unknown>>(
  command: Command<A, O>,
  example: string,
): WithCommon<A, O> {
  return withOptions(command, example, serverOption().hideHelp());
}

function withOptions<A extends unknown[], O extends Record<string, unknown>>(
  command: Command<A, O>,
  example: string,
  ofServer: Option,
): WithCommon<A, O> {
  return command
    .option("--config <file>", "the YAML configuration (default: SIMFLEET_CONFIG, else config/simfleet.yaml)")
    .option("--profile <name>", "profile (account) to use (default: SIMFLEET_PROFILE, else default)")
    .addOption(ofServer)
    .option("--json", "print one JSON document on stdout")
    .addHelpText("after", `\nExample:\n${example.replace(/^/gm, "  ")}`) as never;
}

/** How a command calls routes. */
export interface Caller {
  readonly client: Client;
  /** The account that the command is about; undefined: the worker's default. */
  readonly profile: string | undefined;
  /** Absent with a remote worker, which then does the work. */
  readonly app: App | undefined;
  /** The event feed. @param say reports a lost connection */
  readonly eventSource: (selection: EventChoice, say: (text: string) => void) => EventSource;
}

/** The command that is given, as the audit names it. */
export interface GivenCommand {
  /** `runs cancel` */
  readonly name: string;
  readonly effect: CommandEffect;
  /** Its arguments; empty where it has none. */
  readonly target: string;
}

export class Context {
  readonly io: ProcessIo;
  readonly features: readonly (FeatureRoutes & FeatureSection)[];
  /** Set before the command's action runs. */
  command: GivenCommand | undefined;

  /** @param features those whose commands call their routes in this process */
  constructor(io: ProcessIo, features: readonly (FeatureRoutes & FeatureSection)[]) {
    this.io = io;
    this.features = features;
  }

  /** The user of the operating system, as runs and events name who did something. */
  get actor(): string {
    return `cli:${userName()}`;
  }

  output(options: CommonOptions): Output {
    const { stdout, stderr } = this.io;
    return new Output({ isJson: options.json === true, stdout, stderr });
  }

  /** For a command that only works locally. @throws ConfigError; SimfleetError USAGE with `--server` */
  config(options: CommonOptions): Config {
    const config = this.#load(options);
    if (config.server === undefined) return config;
    throw new SimfleetError(
      "USAGE",
      `This command only works locally and cannot be sent to ${config.server.url}: leave out --server and SIMFLEET_SERVER`,
    );
  }

  /**
   * Runs a command that calls routes: in this process, or through the worker that `--server` or SIMFLEET_SERVER names.
   * @param use gets the client, and the app where this process carries out the calls itself
   */
  async connect<T>(options: CommonOptions, use: (caller: Caller) => Promise<T>): Promise<T> {
    const config = this.#load(options);
    const { env, interrupt } = this.io;
    if (config.server === undefined) return this.withApp(config, (app) => use(this.localCaller(app)));
    const { url, token = localToken(url, config.dataDir) } = config.server;
    const profile = options.profile ?? env.SIMFLEET_PROFILE;
    return use(this.#remoteCaller(new RemoteWorker({ url, token, interrupt, profile })));
  }

  /** Sends requests to a worker. */
  #remoteCaller(worker: RemoteWorker): Caller {
    const { interrupt } = this.io;
    const eventSource: Caller["eventSource"] = (selection, say) => remoteEvents(worker, selection, { interrupt, say });
    return { client: worker.client, profile: worker.profile, app: undefined, eventSource };
  }

  /** Calls routes in this process. */
  localCaller(app: App): Caller {
    const plans = onePlan(systemClock);
    const endpoints = endpointsOf(this.features, app, {
      plans,
      clock: systemClock,
      seenCalls: () => ({ windows: [], today: undefined, periodMs: app.config.limits.periodMs }),
      process: "command",
    });
    const eventSource: Caller["eventSource"] = (selection) => localEvents(app, selection, this.io.interrupt);
    return {
      client: localClient(endpoints, { by: this.actor, signal: this.io.interrupt }),
      profile: app.config.profile,
      app,
      eventSource,
    };
  }

  /**
   * Runs a local command. A command that changes something writes an audit entry first, and its exit code afterwards.
   * @throws SimfleetError AUDIT_UNAVAILABLE, and nothing is done then
   */
  async #audited<T>({ control: { audit } }: App, { profile }: Config, act: () => Promise<T>): Promise<T> {
    const { command } = this;
    if (command === undefined || command.effect === "reads") return act();
    const { name, effect, target } = command;
    const id = await audit.begin({
      who: this.actor,
      role: "",
      action: `simfleet ${name}`,
      target: target === "" && effect === "changes profile" ? profile : target.slice(0, 200),
      requestId: randomUUID(),
      from: hostname(),
    });
    const finish = (exitCode: number): Promise<void> =>
      audit.finish(id, { exitCode }).catch((thrown: unknown) => {
        this.io.stderr.write(`The result could not be recorded in the audit: ${messageOf(thrown)}\n`);
      });
    try {
      const answer = await act();
      await finish(exitCodeOf(answer));
      return answer;
    } catch (thrown) {
      const interrupted = this.io.interrupt.aborted ? 1 : 4;
      await finish(thrown instanceof SimfleetError ? thrown.exitCode : interrupted);
      throw thrown;
    }
  }

  #load(options: CommonOptions): Config {
    const { env } = this.io;
    const profile = options.profile === undefined ? {} : { SIMFLEET_PROFILE: options.profile };
    const server = options.server === undefined ? {} : { SIMFLEET_SERVER: options.server };
    return loadConfig({ file: options.config, env: { ...env, ...profile, ...server }, features: this.features });
  }

  /** Opens the app, calls `use`, and always closes the app again. */
  async withApp<T>(config: Config, use: (app: App) => Promise<T>): Promise<T> {
    const { env, stderr } = this.io;
    const level = env.SIMFLEET_LOG_LEVEL === undefined ? "silent" : config.logLevel;
    const logger = createLogger({ level, destination: stderr });
    const app = await App.open(config, { logger, env });
    let deadlineMs = 20_000;
    try {
      return await this.#audited(app, config, () => use(app));
    } catch (thrown) {
      const explained = App.explained(thrown);
      // Without Redis there is nothing to wait for.
      if (explained instanceof SimfleetError && explained.code === "STORE_UNAVAILABLE") deadlineMs = 1_000;
      throw explained;
    } finally {
      await app.close(deadlineMs);
    }
  }
}

/** The exit code of a command: its number if it returns one, else 0. */
function exitCodeOf(answer: unknown): number {
  return typeof answer === "number" ? answer : 0;
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? "unknown"); // a container may run as a number without a name
  }
}

/**
 * The token of a worker on the same data directory. It has all rights, so it is only sent to this machine.
 * @throws SimfleetError UNAUTHENTICATED
 */
function localToken(url: string, dataDir: string): Secret {
  const { hostname: host } = new URL(url);
  if (!isLoopback(host)) {
    throw new SimfleetError(
      "UNAUTHENTICATED",
      `A token for ${host} is required: set SIMFLEET_SERVER_TOKEN_FILE. The token of the data directory is only sent to this machine`,
    );
  }
  const read = readSecretFile(join(dataDir, "admin-token"));
  if ("secret" in read) return new Secret(read.secret);
  throw new SimfleetError("UNAUTHENTICATED", "A token for the worker is required: set SIMFLEET_SERVER_TOKEN_FILE");
}

export function asCount(text: string): number {
  const count = Number(text);
  if (!/^\d+$/.test(text) || count < 1 || !Number.isSafeInteger(count)) {
    throw new InvalidArgumentError("It must be a whole number of at least 1.");
  }
  return count;
}

/**
 * Asks a yes-or-no question on the terminal. Commands that change SIMs or secrets ask, and need --yes without a terminal.
 * @throws SimfleetError USAGE without a terminal
 */
export async function confirm(io: ProcessIo, question: string): Promise<boolean> {
  if (!isTerminal(io)) throw new SimfleetError("USAGE", "Not a terminal: add --yes to confirm. Nothing was started");
  return /^y(es)?$/i.test((await ask(io, `${question} [y/N] `)) ?? "");
}

/** Whether somebody can answer a question. */
export function isTerminal({ stdin, stderr }: ProcessIo): boolean {
  return stdin.isTTY === true && stderr.isTTY === true;
}

/** Asks a question on the terminal; undefined after Ctrl-C. */
export async function ask(io: ProcessIo, question: string): Promise<string | undefined> {
  const { createInterface } = await import("node:readline/promises");
  const line = createInterface({ input: io.stdin, output: process.stderr });
  try {
    return (await line.question(visible(question), { signal: io.interrupt })).trim();
  } catch {
    return undefined;
  } finally {
    line.close();
  }
}

/**
 * What every command receives: the common options, its output, and a caller for either the local app or a remote worker
 * (`--server`). It loads what opens the app or calls a worker (connect.ts) only when a command asks for it, so that a
 * help text comes at once. It holds no command of its own.
 */
import { on } from "node:events";
import { userInfo } from "node:os";
import { type Command, InvalidArgumentError, Option, type OptionValues } from "@commander-js/extra-typings";
import type { App } from "#kernel/app.ts";
import type { AnyAppFeature } from "#kernel/feature.ts";
import type { Config } from "#config/config.ts";
import { SimfleetError } from "#core/errors.ts";
import { suggestion } from "#core/suggest.ts";
import { visible } from "#core/visible-text.ts";
import type { Client } from "#contract/client.ts";
import type { EventDocument } from "#events/contract.ts";
import { openOutput, type Output, type TextSink } from "./output.ts";

/** The process environment of a command, passed in by the entry point. */
export interface ProcessIo {
  readonly env: NodeJS.ProcessEnv;
  readonly stdout: TextSink;
  readonly stderr: TextSink;
  readonly stdin: NodeJS.ReadStream;
  /** Aborts at the first Ctrl-C or TERM. */
  readonly interrupt: AbortSignal;
  setExitCode(code: number): void;
}

export type CommonOptions = Readonly<{
  config?: string | undefined;
  profile?: string | undefined;
  json?: boolean | undefined;
  server?: string | undefined;
}>;

export interface Caller {
  readonly client: Client;
  /** The account that the command is about; undefined: the worker's default. */
  readonly profile: string | undefined;
  /** The app of this process. Absent with a remote worker. */
  readonly app: App | undefined;
  readonly output: Output;
  /** Aborts at the first Ctrl-C or TERM. */
  readonly interrupt: AbortSignal;
  /** Events after one, existing and new, until Ctrl-C. @param say reports a lost connection, an error without it */
  readonly follow: (choice: EventChoice, id: string, say?: (text: string) => void) => AsyncIterable<EventDocument[]>;
}

export interface EventChoice {
  readonly type: string[] | undefined;
  readonly profile: string | undefined;
}

/**
 * Whether a command may make the embedded Redis of a data directory that has none: a command that starts work makes it
 * anywhere, one that changes or reads state only where the configuration names the directory, and one that has to reach
 * the workers never does.
 */
export type StoreUse = "makes" | "configured" | "never";

/** The command that is given, as the audit names it. */
export interface GivenCommand {
  /** `runs cancel` */
  readonly name: string;
  /** Whether it changes nothing, and so gets no audit entry if run locally; with `--server` the worker writes it. */
  readonly isReading: boolean;
  readonly store: StoreUse;
  /** The feature that it belongs to; undefined for a command that concerns all. */
  readonly feature: AnyAppFeature | undefined;
  /** Target for the audit log: the first argument, or the filters. Empty without either; absent: the profile. */
  readonly target: string | undefined;
}

/** Other commands of a task, below the help of a command. */
export function addSeeAlso(
  command: { addHelpText(position: "after", text: string): unknown },
  ...commands: readonly string[]
): void {
  command.addHelpText("after", `\nSee also:\n${commands.map((one) => `  simfleet ${one} --help`).join("\n")}`);
}

const examples = new WeakMap<object, string>();

/** Adds an example to the help of a command; that of its group has the first line. */
export function addExample(command: { addHelpText(position: "after", text: string): unknown }, example: string): void {
  examples.set(command, example.split("\n", 1)[0] ?? "");
  command.addHelpText("after", `\nExample:\n${example.replace(/^/gm, "  ")}`);
}

/** The first line of a command's example; undefined if it has none. */
export function exampleOf(command: object): string | undefined {
  return examples.get(command);
}

/**
 * Adds the common options and an example to a command.
 * @param where a command that only works locally hides and rejects `--server`
 */
export function withCommon<A extends unknown[], O extends Record<string, unknown>>(
  command: Command<A, O>,
  example: string,
  where: "anywhere" | "locally" = "anywhere",
): Command<A, O & CommonOptions> {
  const server = "send the command to the control API of this worker (default: SIMFLEET_SERVER)";
  command
    .optionsGroup("Common options:")
    .option(
      "--config <file>",
      "the YAML configuration (default: SIMFLEET_CONFIG, else config/simfleet.yaml, else /etc/simfleet/simfleet.yaml)",
    )
    .option("--profile <name>", "profile (account) to use (default: SIMFLEET_PROFILE, else default)")
    .addOption(new Option("--server <url>", server).hideHelp(where === "locally"))
    .option("--json", "print one JSON document on stdout");
  addExample(command, example);
  return command;
}

/**
 * Adds the common options, an example, and an action that calls routes. It gets a caller before the arguments and
 * options; a number that it returns is the exit code.
 */
export function withCaller<A extends unknown[], O extends OptionValues>(
  context: Context,
  command: Command<A, O>,
  example: string,
  act: (caller: Caller, ...given: [...A, O & CommonOptions]) => Promise<unknown>,
): Command {
  return withCommon(command, example).action(async (...given: readonly unknown[]) => {
    await context.connect(command.opts(), (caller) => act(caller, ...(given as [...A, O & CommonOptions])));
  }) as unknown as Command;
}

export class Context {
  readonly io: ProcessIo;
  readonly features: readonly AnyAppFeature[];
  /** Result of the command for the audit log; the last of several. */
  done: { readonly about: string; readonly made: string | undefined } | undefined;
  readonly words: readonly string[];
  /** Set before the command's action runs. */
  command: GivenCommand | undefined;

  /** @param features those whose commands call their routes in this process */
  constructor(io: ProcessIo, features: readonly AnyAppFeature[], words: readonly string[] = []) {
    this.words = words;
    this.io = io;
    this.features = features;
  }

  /** The user of the operating system, as runs and events name who did something. */
  get actor(): string {
    return `cli:${userName()}`;
  }

  output(options: CommonOptions): Output {
    const { stdout, stderr } = this.io;
    return openOutput({ isJson: options.json === true, stdout, stderr, words: this.words });
  }

  /** For a command that only works locally. @throws ConfigError; SimfleetError USAGE with `--server` */
  async config(options: CommonOptions): Promise<Config> {
    return (await (await import("./connect.ts")).localConfig(this, options))();
  }

  /**
   * Runs a command that calls routes: in this process, or through the worker that `--server` or SIMFLEET_SERVER names.
   * @param use gets the client, and the app where this process carries out the calls itself; a number that it returns
   *   is the exit code
   */
  async connect<T>(options: CommonOptions, use: (caller: Caller) => Promise<T>): Promise<T> {
    const answer = await (await import("./connect.ts")).connect(this, options, use);
    if (typeof answer === "number") this.io.setExitCode(answer);
    return answer;
  }

  /** Asks unless `--yes` was given. A no ends the command with exit code 2. @param done as in `Nothing was deleted.` */
  async isConfirmed(options: CommonOptions & { yes?: true }, question: string, done: string): Promise<boolean> {
    if (options.yes === true || (await confirm(this.io, question))) return true;
    this.output(options).say(`Nothing was ${done}.`);
    this.io.setExitCode(2);
    return false;
  }

  /** Opens the app, calls `use`, and always closes the app again. */
  async withApp<T>(config: Config, use: (app: App) => Promise<T>): Promise<T> {
    return (await import("./connect.ts")).withApp(this, config, use);
  }
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? "unknown"); // a container may run as a number without a name
  }
}

/** An option with a fixed set of values. A value that is close to one of them gets a suggestion. */
export function choiceOption<const Flags extends string, const Names extends readonly string[]>(
  flags: Flags,
  description: string,
  names: Names,
): Option<Flags, undefined, undefined, Names[number]> {
  return new Option(flags, description).choices(names).argParser<Names[number]>((text) => oneOf(text, names));
}

/** @throws InvalidArgumentError with the names and the closest one */
export function oneOf<const Names extends readonly string[]>(text: string, names: Names): Names[number] {
  const found = names.find((name) => name === text);
  if (found !== undefined) return found;
  throw new InvalidArgumentError(`It must be one of ${names.join(", ")}.${suggestion(text, names)}`);
}

export function asCount(text: string): number {
  const count = Number(text);
  if (!/^\d+$/.test(text) || count < 1 || !Number.isSafeInteger(count)) {
    throw new InvalidArgumentError("It must be a whole number of at least 1.");
  }
  return count;
}

/** The option of commands that ask. */
export function yesOption() {
  return new Option("-y, --yes", "skip the confirmation; required without a terminal");
}

/**
 * Asks yes or no on the terminal. Commands that change SIMs or secrets ask, and need --yes without a terminal.
 * @throws SimfleetError USAGE without a terminal
 */
export async function confirm(io: ProcessIo, question: string): Promise<boolean> {
  if (!isTerminal(io)) throw new SimfleetError("USAGE", "Not a terminal: add --yes to confirm. Nothing was started");
  return /^y(es)?$/i.test((await ask(io, `${question} [y/N] `)) ?? "");
}

export function isTerminal({ stdin, stderr }: ProcessIo): boolean {
  return stdin.isTTY === true && stderr.isTTY === true;
}

/** Asks a question on the terminal; undefined after Ctrl-C. */
export async function ask(io: ProcessIo, question: string): Promise<string | undefined> {
  return asking(io, (put) => put(question));
}

/** Asks several questions in turn. Lines that are typed or pasted ahead answer the next ones. */
export async function asking<T>(
  io: ProcessIo,
  use: (ask: (question: string) => Promise<string | undefined>) => Promise<T>,
): Promise<T> {
  const { createInterface } = await import("node:readline");
  const terminal = createInterface({ input: io.stdin, output: process.stderr });
  // Otherwise readline takes Ctrl-C for itself, and a shell goes on with its loop.
  terminal.on("SIGINT", () => process.kill(process.pid, "SIGINT"));
  let isClosed = false;
  terminal.once("close", () => (isClosed = true));
  const lines = on(terminal, "line", { close: ["close"], signal: io.interrupt });
  try {
    return await use(async (question) => {
      terminal.setPrompt(visible(question));
      // Lines that came before the end of the input still answer.
      if (!isClosed) terminal.prompt();
      const line = (await lines.next().catch(() => undefined))?.value as [string] | undefined;
      return line?.[0].trim();
    });
  } finally {
    terminal.close();
  }
}

/**
 * Builds the command line from the commands of all features, and is the single place where an error becomes a message
 * and an exit code. It starts no process itself.
 */
import { Command, CommanderError, type CommandUnknownOpts } from "@commander-js/extra-typings";
import { ConfigError, SimfleetError, messageOf } from "#core/errors.ts";
import { suggestion } from "#core/suggest.ts";
import { version } from "#core/version.ts";
import { visibleLines } from "#core/visible-text.ts";
import { type AnyFeature, commandGroups, type FeatureCommand, readingWords } from "./feature.ts";
import { Context, exampleOf, type GivenCommand, type ProcessIo } from "./context.ts";
import { openOutput } from "./output.ts";

/**
 * Runs one command line.
 * @param line the arguments after the program's name
 */
export async function runProgram(line: readonly string[], deps: Deps): Promise<void> {
  const { io } = deps;
  const argv = inUsualWords(line);
  try {
    const asked = argv.find((word) => word !== "help");
    const program = await buildProgram({ ...deps, words: argv }, (name) => name === asked);
    assertKnownWords(program, argv);
    await program.parseAsync([...argv], { from: "user" });
  } catch (thrown) {
    io.setExitCode(emit(thrown, argv, io));
  }
}

/** Puts common options behind the command, and takes `version` and `events tail` for `--version` and `events`. */
function inUsualWords(line: readonly string[]): readonly string[] {
  const takesValue = /^--(?:config|profile|server)$/;
  const at = line.findIndex((word, i) => !word.startsWith("-") && !takesValue.test(line[i - 1] ?? ""));
  if (at > 0) return inUsualWords([...line.slice(at), ...line.slice(0, at)]);
  const [first, second] = line;
  if (first === "version") return ["--version"];
  return first === "events" && second === "tail" ? line.toSpliced(1, 1) : line;
}

interface Deps {
  readonly io: ProcessIo;
  readonly features: readonly AnyFeature[];
  readonly words?: readonly string[];
}

/** Commands that start a process or look at all of simfleet. They follow those of the features in the help. */
const processCommands: Readonly<Record<string, FeatureCommand>> = {
  worker: {
    group: "operate",
    summary: "Run the always-on worker with dashboard and control API",
    load: async (context) => (await import("./commands/worker.ts")).workerCommand(context),
  },
  gateway: {
    group: "operate",
    summary: "Run a proxy that shares the quota with other tools",
    load: async (context) => (await import("./commands/worker.ts")).gatewayCommand(context),
  },
  check: {
    group: "operate",
    summary: "Verify configuration, Redis, platform addresses, credentials and clock",
    load: async (context) => (await import("./commands/check.ts")).checkCommand(context),
  },
  schema: {
    group: "operate",
    summary: "Print the JSON Schema of the configuration",
    load: async (context) => (await import("./commands/schema.ts")).schemaCommand(context),
  },
  completion: {
    group: "operate",
    summary: "Print a completion script for bash, zsh or fish",
    load: async (context) => {
      const { completionCommand } = await import("./commands/completion.ts");
      return completionCommand(context, (names) => buildProgram(context, (name) => names.includes(name)));
    },
  },
  init: {
    group: "start",
    summary: "Write a configuration file",
    load: async (context) => (await import("./commands/init.ts")).initCommand(context),
  },
  sandbox: {
    group: "start",
    summary: "Simulate the platform",
    load: async (context) => (await import("./commands/sandbox.ts")).sandboxCommand(context),
  },
};

/** @param loads whether a command is loaded, as all are by default; another is in the help only */
export async function buildProgram(deps: Deps, loads: (name: string) => boolean = () => true): Promise<Command> {
  const { io, features, words } = deps;
  const context = new Context(io, features, words);
  const ofFeatures = features.flatMap(({ commands = {} }) => Object.entries<FeatureCommand>(commands));
  const program = new Command("simfleet")
    .description(
      "Change, sync and rotate large fleets of SIMs on Soracom and compatible APIs.\n\nNew here? `simfleet demo` shows a run in a minute. `simfleet init` writes your configuration, `simfleet check` verifies it, and `simfleet plan FILE` shows what a file would change.",
    )
    .version(version, "-V, --version", "show the version")
    .addHelpText("after", rootNotes);
  const groups = Object.keys(commandGroups);
  const commands = [...ofFeatures, ...Object.entries(processCommands)].toSorted(
    ([, a], [, b]) => groups.indexOf(a.group) - groups.indexOf(b.group),
  );
  for (const [name, { group, summary, load }] of commands) {
    const command = loads(name) ? await load(context) : new Command(name);
    if (command.description() === "") command.description(summary);
    program.addCommand(command.summary(summary).helpGroup(commandGroups[group]));
  }
  forEachCommand(program, (command) => {
    command.exitOverride().helpOption("-h, --help", "show this help");
    if (command.commands.length > 0) {
      const help = new Command("help").description("Show the help of a command");
      help.argument("[command]");
      help.helpOption(false).helpGroup(command === program ? commandGroups.start : "Commands:");
      command.addHelpCommand(help);
      if (command !== program) command.addHelpText("after", groupExample(command));
    }
    command.configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(visibleLines(text)),
      // `emit` reports errors, all in the same way.
      outputError: () => undefined,
    });
  });
  program.hook("preAction", (_, command) => {
    context.command = given(command, features);
  });
  return program;
}

const rootNotes = `
Examples:
  simfleet plan fleet.csv
  simfleet apply fleet.csv

Environment:
  SIMFLEET_CONFIG   configuration file
  SIMFLEET_PROFILE  profile
  SIMFLEET_SERVER   worker to run commands on, such as https://fleet.example.com

Exit codes:
  0  every row is done or skipped
  1  some rows are rejected, failed, unknown, cancelled or pending
  2  the command line, the configuration or the input is invalid
  3  the platform rejected the credentials or denied permission
  4  Redis, the network or the platform is unavailable, or the results cannot be written

Documentation: docs/index.md in the source code`;

/** The example of a group: those of its first commands. */
function groupExample({ commands }: CommandUnknownOpts): string {
  const examples = commands.flatMap((sub) => exampleOf(sub) ?? []).slice(0, 3);
  return [`\nExample:`, ...examples.map((line) => `  ${line}`)].join("\n");
}

/** Rejects a word that is no command also before `--help`, where it would get the help of the word before. */
function assertKnownWords(program: CommandUnknownOpts, argv: readonly string[]): void {
  let command = program;
  for (const word of argv) {
    if (word.startsWith("-") || command.commands.length === 0) return;
    if (word === "help") continue;
    const names = command.commands.map((sub) => sub.name());
    const sub = command.commands[names.indexOf(word)];
    if (sub === undefined) return command.error(`unknown command '${word}'.${suggestion(word, names)}`);
    command = sub;
  }
}

function given(command: CommandUnknownOpts, features: readonly AnyFeature[]): GivenCommand {
  const name = nameOf(command);
  const [word = ""] = name.split(" ", 1);
  // A command of no feature changes nothing that the audit log has, and a worker audits its requests itself.
  const owner = features.find(({ commands = {} }) => Object.hasOwn(commands, word));
  const store = owner === undefined ? "makes" : (owner.stores?.[name] ?? "configured");
  refuseEmptyValues(command);
  const { where = [], dryRun }: { where?: readonly string[]; dryRun?: boolean } = command.opts();
  // Further arguments are texts and values.
  const named = command.args[0] ?? where.join(" ");
  const target = named === "" && owner?.ofProfile?.includes(name) === true ? undefined : named;
  const reads = readingWords.has(command.name()) || owner?.reads?.includes(name) === true;
  const isReading = owner === undefined || dryRun === true || reads;
  return { name, isReading, store, feature: owner, target };
}

/** Options that count as not given if they are empty, as in the environment. */
const mayBeEmpty: ReadonlySet<string> = new Set(["config", "profile", "server", "reason", "current"]);

/** An empty text is a mistake of a script, such as a variable that is not set. @throws SimfleetError USAGE */
function refuseEmptyValues(command: CommandUnknownOpts): void {
  const values: Readonly<Record<string, unknown>> = command.opts();
  const isEmpty = (name: string): boolean => !mayBeEmpty.has(name) && [values[name]].flat().includes("");
  const empty = command.options.find((option) => isEmpty(option.attributeName()));
  if (empty !== undefined) throw new SimfleetError("USAGE", `${empty.long} is empty: give it a value, or leave it out`);
  const at = command.args.indexOf("");
  const argument = command.registeredArguments.at(Math.min(at, command.registeredArguments.length - 1));
  if (at >= 0) throw new SimfleetError("USAGE", `The argument ${argument?.name() ?? ""} is empty: give it a value`);
}

/** `runs cancel` */
export function nameOf(command: CommandUnknownOpts): string {
  const { parent } = command;
  return parent === null || parent.parent === null ? command.name() : `${nameOf(parent)} ${command.name()}`;
}

function forEachCommand(command: CommandUnknownOpts, change: (command: CommandUnknownOpts) => void): void {
  change(command);
  for (const sub of command.commands) forEachCommand(sub, change);
}

/** Reports the error; with --json on stdout as well. */
function emit(thrown: unknown, argv: readonly string[], { stdout, stderr, interrupt }: ProcessIo): number {
  if (thrown instanceof CommanderError && thrown.exitCode === 0) return 0;
  // It has shown the help, since a command such as `runs` needs another word.
  if (thrown instanceof CommanderError && thrown.code === "commander.help") return 2;
  if (interrupt.aborted && !(thrown instanceof SimfleetError)) return 1;
  const error = thrown instanceof CommanderError ? usageError(thrown) : withoutFolder(thrown);
  const output = openOutput({ isJson: argv.includes("--json"), stdout, stderr });
  const code = error instanceof SimfleetError ? error.code : "INTERNAL";
  if (output.isJson) {
    const problems = error instanceof ConfigError ? { problems: error.problems } : {};
    output.answer({ error: { code, message: messageOf(error), ...problems } }, () => "");
  }
  // The faults of a configuration stand on lines of their own; any other message is one line.
  if (error instanceof ConfigError) output.sayLines(`simfleet: ${error.message}`);
  else output.say(`simfleet: ${messageOf(error)}`);
  if (error instanceof SimfleetError) return error.exitCode;
  output.sayLines(error instanceof Error ? (error.stack ?? "") : "");
  return 4;
}

/** A relative path has no meaning in a working folder that was deleted. */
function withoutFolder(thrown: unknown): unknown {
  if ((thrown as NodeJS.ErrnoException | undefined)?.syscall !== "uv_cwd") return thrown;
  const message = "The working folder no longer exists, and a relative path was given: change to another folder";
  return new SimfleetError("USAGE", message);
}

/** A mistake in the command line in the form of all errors: `Unknown option '--limt'. Did you mean --limit?` */
function usageError({ message }: CommanderError): SimfleetError {
  const text = message.replace(/^error: /, "").replace(/\n\((.*)\)$/, ". $1");
  const sentence = `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
  return new SimfleetError("USAGE", `${sentence.replace(/[^.?]$/, "$&.")} Add --help for the options.`);
}

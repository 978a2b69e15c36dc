/**
 * Builds the command line from the commands of all features, and is the single place where an error becomes a message
 * and an exit code. It starts no process itself.
 */
import { Command, CommanderError } from "@commander-js/extra-typings";
import { ConfigError, SimfleetError, messageOf } from "#core/errors.ts";
import type { RunWorker } from "./commands/worker.ts";
import { visibleLines } from "#core/visible-text.ts";
import { type CommandEffect, processEffects } from "./command-effects.ts";
import type { Feature } from "./feature.ts";
import { Context, type GivenCommand, type ProcessIo } from "./context.ts";
import { Output } from "./output.ts";

/**
 * Runs one command line.
 * @param argv the arguments after the program's name
 */
export async function runProgram(argv: readonly string[], deps: Deps): Promise<void> {
  const { io } = deps;
  try {
    const program = await buildProgram(deps, argv[0]);
    await program.parseAsync([...argv], { from: "user" });
  } catch (thrown) {
    io.setExitCode(emit(thrown, argv, io));
  }
}

type Deps = { io: ProcessIo; runWorker: RunWorker; features: readonly Feature[]; version: string };
type Load = (context: Context) => Promise<Command>;

/** Commands that start a process or look at all of simfleet. They follow those of the features in the help. */
function processCommands({ runWorker }: Deps): Readonly<Record<string, Load>> {
  return {
    tokens: async (context) => (await import("./commands/tokens.ts")).tokensCommand(context),
    check: async (context) => (await import("./commands/check.ts")).checkCommand(context),
    worker: async (context) => (await import("./commands/worker.ts")).workerCommand(context, runWorker),
    sandbox: async () => (await import("./commands/sandbox.ts")).sandboxCommand(),
    demo: async (context) => (await import("./commands/demo.ts")).demoCommand(context, runWorker),
  };
}

/**
 * All commands, or one.
 * @param asked the command's name where it is the first word; else all are needed, for the help or a suggestion
 */
export async function buildProgram(deps: Deps, asked?: string): Promise<Command> {
  const context = new Context(deps.io, deps.features);
  const ofFeatures = <T>(part: (feature: Feature) => Readonly<Record<string, T>> | undefined): Record<string, T> =>
    Object.fromEntries(deps.features.flatMap((feature) => Object.entries(part(feature) ?? {})));
  const commands = { ...ofFeatures<Load>((feature) => feature.commands), ...processCommands(deps) };
  const effects = { ...ofFeatures((feature) => feature.effects), ...processEffects };
  const { stdout, stderr } = deps.io;
  const program = new Command("simfleet")
    .description("Looks after a fleet of SIMs through a rate-limited connectivity API.")
    .version(deps.version)
    .addHelpText("after", "\nExample:\n  simfleet plan fleet.csv\n  simfleet apply fleet.csv");
  const one = asked !== undefined && Object.hasOwn(commands, asked) ? commands[asked] : undefined;
  const loads = one === undefined ? Object.values(commands) : [one];
  for (const command of await Promise.all(loads.map((load) => load(context)))) program.addCommand(command);
  forEachCommand(program, (command) => {
    command.exitOverride().showHelpAfterError("(add --help for the options)");
    command.configureOutput({
      writeOut: (text) => stdout.write(text),
      writeErr: (text) => stderr.write(visibleLines(text)),
    });
  });
  program.hook("preAction", (_, command) => {
    context.command = given(command as unknown as Command, effects);
  });
  return program;
}

/** @throws Error for a command whose feature does not say what it changes */
function given(command: Command, effects: Readonly<Record<string, CommandEffect>>): GivenCommand {
  const name = nameOf(command);
  const effect = Object.hasOwn(effects, name) ? effects[name] : undefined;
  if (effect === undefined) throw new Error(`the feature of ${name} does not say what the command changes (effects)`);
  refuseEmptyValues(command);
  const { where = [], dryRun }: { where?: readonly string[]; dryRun?: boolean } = command.opts();
  const about = command.args.length > 0 ? command.args : where;
  return { name, effect: dryRun === true ? "reads" : effect, target: about.join(" ") };
}

/** Options that count as not given if they are empty, as in the environment. */
const mayBeEmpty: ReadonlySet<string> = new Set(["config", "profile", "server", "reason"]);

/** An empty text is a mistake of a script, such as a variable that is not set. @throws SimfleetError USAGE */
function refuseEmptyValues(command: Command): void {
  const values: Readonly<Record<string, unknown>> = command.opts();
  const empty = Object.keys(values).find((name) => !mayBeEmpty.has(name) && [values[name]].flat().includes(""));
  const flag = command.options.find((option) => option.attributeName() === empty)?.long;
  if (empty !== undefined)
    throw new SimfleetError("USAGE", `${flag ?? empty} is empty: give it a value, or leave it out`);
  if (command.args.includes("")) throw new SimfleetError("USAGE", "An argument is empty");
}

/** `runs cancel` */
export function nameOf(command: Command): string {
  const { parent } = command;
  return parent === null || parent.parent === null ? command.name() : `${nameOf(parent as Command)} ${command.name()}`;
}

function forEachCommand(command: Command, change: (command: Command) => void): void {
  change(command);
  for (const sub of command.commands) forEachCommand(sub as Command, change);
}

/** Reports the error; with --json on stdout as well. */
function emit(thrown: unknown, argv: readonly string[], { stdout, stderr, interrupt }: ProcessIo): number {
  if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? 0 : 2;
  if (interrupt.aborted && !(thrown instanceof SimfleetError)) return 1;
  const output = new Output({ isJson: argv.includes("--json"), stdout, stderr });
  const code = thrown instanceof SimfleetError ? thrown.code : "INTERNAL";
  if (output.isJson) {
    const problems = thrown instanceof ConfigError ? { problems: thrown.problems } : {};
    output.answer({ error: { code, message: messageOf(thrown), ...problems } }, () => "");
  }
  // The faults of a configuration stand on lines of their own; any other message is one line.
  if (thrown instanceof ConfigError) output.sayLines(`simfleet: ${thrown.message}`);
  else output.say(`simfleet: ${messageOf(thrown)}`);
  if (thrown instanceof SimfleetError) return thrown.exitCode;
  output.sayLines(thrown instanceof Error ? (thrown.stack ?? "") : "");
  return 4;
}

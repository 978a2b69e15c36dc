/** All commands under one name, and the one place where an error becomes a message and an exit code. */
import { Command, CommanderError } from "@commander-js/extra-typings";
import { ConfigError, SimfleetError, messageOf } from "#core/errors.ts";
import { applyCommand } from "./commands/apply.ts";
import { checkCommand } from "./commands/check.ts";
import { credentialsCommand } from "./commands/credentials/credentials.ts";
import { demoCommand } from "./commands/demo.ts";
import { planCommand } from "./commands/plan.ts";
import { quotaCommand } from "./commands/quota.ts";
import { runsCommand } from "./commands/runs.ts";
import { sandboxCommand } from "./commands/sandbox.ts";
import { simsCommand } from "./commands/sims/sims.ts";
import { type Serve, workerCommand } from "./commands/worker.ts";
import { Context, type Surroundings } from "./context.ts";
import { Output } from "./output.ts";

/**
 * Runs one command line.
 * @param argv the arguments after the program's name
 */
export async function runProgram(
  argv: readonly string[],
  house: { surroundings: Surroundings; serve: Serve; version: string },
): Promise<void> {
  const { surroundings } = house;
  const program = buildProgram(house);
  try {
    await program.parseAsync([...argv], { from: "user" });
  } catch (thrown) {
    surroundings.setExitCode(tell(thrown, argv, surroundings));
  }
}

function buildProgram(house: { surroundings: Surroundings; serve: Serve; version: string }): Command {
  const context = new Context(house.surroundings);
  const { stdout, stderr } = house.surroundings;
  const program = new Command("simfleet")
    .description("Looks after a fleet of SIMs through a rate-limited connectivity API.")
    .version(house.version)
    .addHelpText("after", "\nExample:\n  simfleet plan fleet.csv\n  simfleet apply fleet.csv")
    .addCommand(planCommand(context))
    .addCommand(applyCommand(context))
    .addCommand(runsCommand(context))
    .addCommand(simsCommand(context))
    .addCommand(credentialsCommand(context))
    .addCommand(quotaCommand(context))
    .addCommand(checkCommand(context))
    .addCommand(workerCommand(context, house.serve))
    .addCommand(sandboxCommand())
    .addCommand(demoCommand(context));
  forEachCommand(program, (command) => {
    command.exitOverride().showHelpAfterError("(add --help for the options)");
    command.configureOutput({ writeOut: (text) => stdout.write(text), writeErr: (text) => stderr.write(text) });
  });
  return program;
}

function forEachCommand(command: Command, change: (command: Command) => void): void {
  change(command);
  for (const sub of command.commands) forEachCommand(sub as Command, change);
}

/** Says what went wrong; with --json on stdout as well. */
function tell(thrown: unknown, argv: readonly string[], { stdout, stderr, interrupt }: Surroundings): number {
  if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? 0 : 2;
  if (interrupt.aborted && !(thrown instanceof SimfleetError)) return 1;
  const output = new Output({ isJson: argv.includes("--json"), stdout, stderr });
  const code = thrown instanceof SimfleetError ? thrown.code : "INTERNAL";
  if (output.isJson) {
    const problems = thrown instanceof ConfigError ? { problems: thrown.problems } : {};
    output.answer({ error: { code, message: messageOf(thrown), ...problems } }, () => "");
  }
  output.say(`simfleet: ${messageOf(thrown)}`);
  if (thrown instanceof SimfleetError) return thrown.exitCode;
  output.say(thrown instanceof Error ? (thrown.stack ?? "") : "");
  return 4;
}

/**
 * `simfleet completion SHELL`: completion of commands and options in a shell. A script (../completion/bash.sh) calls
 * `completion words` with the line as typed so far, by the name or path that the line starts with. It answers a word
 * per line, with a tab before its description; where there is none, the shell offers files.
 */
import { Command, type CommandUnknownOpts } from "@commander-js/extra-typings";
import { addExample, type Context } from "../context.ts";
import { fileURLToPath } from "node:url";
import { readFileOnce } from "#core/files/open-file.ts";

const shells = {
  bash: "source <(simfleet completion bash)",
  zsh: "source <(simfleet completion zsh)",
  fish: "simfleet completion fish > ~/.config/fish/completions/simfleet.fish",
};

/** @param program builds the command line, with the commands of these names loaded */
export function completionCommand({ io }: Context, program: (names: readonly string[]) => Promise<Command>): Command {
  const command = new Command("completion").description("Print the completion script for a shell");
  for (const [shell, example] of Object.entries(shells)) {
    const sub = new Command(shell).description(`Print the completion script for ${shell}`);
    addExample(sub, example);
    command.addCommand(sub.action(() => void io.stdout.write(readScript(shell))));
  }
  const words = new Command("words")
    .description("Print the words that complete a line; the scripts call it")
    .argument("[words...]", "words before the cursor")
    .option("--current <word>", "the word at the cursor", "");
  words.action(async (before, { current }) => {
    for (const { word, description } of candidates(await program(before), before, current)) {
      io.stdout.write(`${word}\t${description}\n`);
    }
  });
  return command.addCommand(words, { hidden: true });
}

function readScript(shell: string): string {
  const file = fileURLToPath(new URL(`../completion/${shell}.sh`, import.meta.url));
  return readFileOnce(file, { links: "follow", maxBytes: 65_536 }).bytes.toString();
}

/**
 * The words that may stand at the cursor.
 * @param before the words before it, without the program
 * @param current what is typed of the word, which may be empty
 */
export function candidates(program: Command, before: readonly string[], current: string) {
  const command = before.reduce(
    (at: CommandUnknownOpts, word) => at.commands.find((sub) => sub.name() === word) ?? at,
    program,
  );
  const help = command.createHelp();
  const words = current.startsWith("-")
    ? help.visibleOptions(command).map(({ long, short, description }) => ({ word: long ?? short ?? "", description }))
    : help
        .visibleCommands(command)
        .map((sub) => ({ word: sub.name(), description: sub.summary() || sub.description() }));
  return words.filter(({ word }) => word.startsWith(current));
}

/**
 * `simfleet completion SHELL`: completion of commands, options and their values in a shell. A script (../completion/bash.sh)
 * calls `completion words` with the line as typed so far, by the name or path that the line begins with. It answers a word
 * per line, with a tab before its description; the line `:files` stands for paths.
 */
import { fileURLToPath } from "node:url";
import { Command } from "@commander-js/extra-typings";
import { readFileOnce } from "#core/files/open-file.ts";
import { candidates, readLine } from "../completion/candidates.ts";
import { builtTree, type CommandTree, treeOf } from "../completion/command-tree.ts";
import { addExample, type Context } from "../context.ts";

const shells = ["bash", "zsh", "fish"] as const;

/** @param program builds the whole command line, with every command loaded */
export function completionCommand({ io }: Context, program: () => Promise<Command>): Command {
  const command = new Command("completion").description("print the completion script for a shell");
  for (const shell of shells) {
    const sub = new Command(shell).description(`print the completion script for ${shell}`);
    addExample(sub, examples[shell]);
    command.addCommand(sub.action(() => void io.stdout.write(scriptOf(shell))));
  }
  const tree = async (): Promise<CommandTree> => treeOf(await program());
  const words = new Command("words")
    .description("print the words that complete a line; the scripts call it")
    .argument("[words...]", "words before the cursor")
    .option("--current <word>", "the word at the cursor", "");
  words.action(async (before, { current }) => {
    const line = readLine(builtTree() ?? (await tree()), before);
    const { words: found, areFiles } = candidates(line, current);
    for (const { word, description } of found) io.stdout.write(`${word}\t${description}\n`);
    if (areFiles) io.stdout.write(":files\n");
  });
  const build = new Command("tree").description("print all commands and options as JSON; the build keeps them");
  build.action(async () => void io.stdout.write(JSON.stringify(await tree())));
  command.addCommand(words, { hidden: true });
  return command.addCommand(build, { hidden: true });
}

function scriptOf(shell: (typeof shells)[number]): string {
  const file = fileURLToPath(new URL(`../completion/${shell}.sh`, import.meta.url));
  return readFileOnce(file, { links: "follow", mostBytes: 65_536 }).bytes.toString();
}

const examples: Readonly<Record<(typeof shells)[number], string>> = {
  bash: "source <(simfleet completion bash)",
  zsh: "source <(simfleet completion zsh)",
  fish: "simfleet completion fish > ~/.config/fish/completions/simfleet.fish",
};

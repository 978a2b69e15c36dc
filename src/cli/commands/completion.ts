/**
 * `simfleet completion SHELL`: completion of commands, options and their values in a shell. A script (../completion/bash.sh)
 * calls `completion words` with the line as typed so far, by the name or path that the line starts with. It answers a word
 * per line, with a tab before its description; the line `:files` stands for paths.
 */
import { Command, type Option } from "@commander-js/extra-typings";
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
    command.addCommand(sub.action(() => void io.stdout.write(scriptOf(shell))));
  }
  const words = new Command("words")
    .description("Print the words that complete a line; the scripts call it")
    .argument("[words...]", "words before the cursor")
    .option("--current <word>", "the word at the cursor", "");
  words.action(async (before, { current }) => {
    const { words: found, areFiles } = candidates(await program(before), before, current);
    for (const { word, description } of found) io.stdout.write(`${word}\t${description}\n`);
    if (areFiles) io.stdout.write(":files\n");
  });
  return command.addCommand(words, { hidden: true });
}

function scriptOf(shell: string): string {
  const file = fileURLToPath(new URL(`../completion/${shell}.sh`, import.meta.url));
  return readFileOnce(file, { links: "follow", maxBytes: 65_536 }).bytes.toString();
}

interface Candidates {
  readonly words: readonly { readonly word: string; readonly description: string }[];
  readonly areFiles: boolean;
}

/**
 * The words that may stand at the cursor.
 * @param before the words before it, without the program
 * @param current what is typed of the word, which may be empty
 */
export function candidates(program: Command, before: readonly string[], current: string): Candidates {
  const { command, pending, given, areOptionsOver } = readLine(program, before);
  const help = command.createHelp();
  const typed = current === "=" ? "" : current;
  const offer = (words: Candidates["words"], areFiles = false): Candidates => ({
    words: words.filter(({ word }) => word.startsWith(typed)),
    areFiles,
  });
  const values = (placeholder: string, choices: readonly string[] = [], prefix = ""): Candidates =>
    offer(
      choices.map((choice) => ({ word: `${prefix}${choice}`, description: "" })),
      /^(file|path|folder)$/.test(placeholder),
    );
  const valuesOf = ({ flags, argChoices }: Option, prefix = ""): Candidates =>
    values(/[<[]([^>\]]+)/.exec(flags)?.[1] ?? "", argChoices, prefix);
  if (pending !== undefined) return valuesOf(pending);
  const [flag = "", value] = typed.split(/=(.*)/s);
  const ofFlag = value === undefined ? undefined : takingValue(command, flag);
  if (ofFlag !== undefined) return valuesOf(ofFlag, `${flag}=`);
  const isOption = typed.startsWith("-") && !areOptionsOver;
  const argument = command.registeredArguments[given];
  if (!isOption && command.commands.length > 0) {
    const subs = help.visibleCommands(command);
    return offer(subs.map((sub) => ({ word: sub.name(), description: sub.summary() || sub.description() })));
  }
  if (!isOption && argument !== undefined) return values(argument.name(), argument.argChoices);
  if (areOptionsOver) return offer([]);
  const options = help.visibleOptions(command);
  return offer(options.map(({ long, short, description }) => ({ word: long ?? short ?? "", description })));
}

/** Reads a line up to the cursor: its command, the option whose value comes next, and the number of arguments. */
function readLine(program: Command, before: readonly string[]) {
  let command = program;
  let pending: Option | undefined;
  let given = 0;
  let areOptionsOver = false;
  // Bash hands over `--option=value` as three words.
  for (const word of before.filter((one) => one !== "=")) {
    if (pending !== undefined) pending = undefined;
    else if (word === "--") areOptionsOver = true;
    else if (word.startsWith("-") && !areOptionsOver) {
      const [flag = "", value] = word.split(/=(.*)/s);
      if (value === undefined) pending = takingValue(command, flag);
    } else {
      const sub = command.commands.find((one) => one.name() === word);
      if (sub === undefined) given += 1;
      else command = sub as Command;
    }
  }
  return { command, pending, given, areOptionsOver };
}

function takingValue(command: Command, flag: string): Option | undefined {
  return command.options.find(({ short, long, required, optional }) => {
    return [short, long].includes(flag) && (required || optional);
  });
}

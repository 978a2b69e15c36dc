/**
 * `simfleet completion SHELL`: completion of commands, options and their values in a shell. A script (../completion/bash.sh)
 * calls `completion words` with the line as typed so far, by the name or path that the line starts with. It answers a word
 * per line, with a tab before its description; the line `:files` stands for paths.
 */
import { Command, type Option } from "@commander-js/extra-typings";
import { addExample, type Context } from "../context.ts";
import { fileURLToPath } from "node:url";
import { readFileOnce } from "#core/files/open-file.ts";

/** The example of each. */
const shells = {
  bash: "source <(simfleet completion bash)",
  zsh: "source <(simfleet completion zsh)",
  fish: "simfleet completion fish > ~/.config/fish/completions/simfleet.fish",
};

/** @param program builds the whole command line, with every command loaded */
export function completionCommand({ io }: Context, program: () => Promise<Command>): Command {
  const command = new Command("completion").description("Print the completion script for a shell");
  for (const [shell, example] of Object.entries(shells)) {
    const sub = new Command(shell).description(`Print the completion script for ${shell}`);
    addExample(sub, example);
    command.addCommand(sub.action(() => void io.stdout.write(scriptOf(shell))));
  }
  const tree = async (): Promise<CommandTree> => treeOf(await program());
  const words = new Command("words")
    .description("Print the words that complete a line; the scripts call it")
    .argument("[words...]", "words before the cursor")
    .option("--current <word>", "the word at the cursor", "");
  words.action(async (before, { current }) => {
    const { words: found, areFiles } = candidates(builtTree() ?? (await tree()), before, current);
    for (const { word, description } of found) io.stdout.write(`${word}\t${description}\n`);
    if (areFiles) io.stdout.write(":files\n");
  });
  const build = new Command("tree").description("Print all commands and options as JSON; the build keeps them");
  build.action(async () => void io.stdout.write(JSON.stringify(await tree())));
  command.addCommand(words, { hidden: true });
  return command.addCommand(build, { hidden: true });
}

function scriptOf(shell: string): string {
  const file = fileURLToPath(new URL(`../completion/${shell}.sh`, import.meta.url));
  return readFileOnce(file, { links: "follow", maxBytes: 65_536 }).bytes.toString();
}

// Which words complete a command line: a pure function of the command tree and the line.

interface Candidates {
  readonly words: readonly { readonly word: string; readonly description: string }[];
  /** Whether the shell completes a path. */
  readonly areFiles: boolean;
}

/**
 * The words that may stand at the cursor.
 * @param before the words before it, without the program
 * @param current what is typed of the word, which may be empty
 */
export function candidates(tree: CommandTree, before: readonly string[], current: string): Candidates {
  const { command, pending, given, areOptionsOver } = readLine(tree, before);
  const typed = current === "=" ? "" : current;
  const offer = (words: Candidates["words"], areFiles = false): Candidates => ({
    words: words.filter(({ word }) => word.startsWith(typed)),
    areFiles,
  });
  const values = ({ choices, isFile }: Slot, prefix = ""): Candidates =>
    offer(
      choices.map((choice) => ({ word: `${prefix}${choice}`, description: "" })),
      isFile,
    );
  if (pending !== undefined) return values(pending);
  const [flag = "", value] = typed.split(/=(.*)/s);
  const ofFlag = value === undefined ? undefined : valueOf(command, flag);
  if (ofFlag !== undefined) return values(ofFlag, `${flag}=`);
  const isOption = typed.startsWith("-") && !areOptionsOver;
  const argument = command.arguments[given];
  if (!isOption && command.commands.length > 0) {
    return offer(command.commands.map(({ name, summary }) => ({ word: name, description: summary })));
  }
  if (!isOption && argument !== undefined) return values(argument);
  if (areOptionsOver) return offer([]);
  return offer(command.options.map(({ flags, description }) => ({ word: flags.at(-1) ?? "", description })));
}

/** Reads a line up to the cursor: its command, the option whose value comes next, and the number of arguments. */
function readLine(tree: CommandTree, before: readonly string[]) {
  let command = tree;
  let pending: Slot | undefined;
  let given = 0;
  let areOptionsOver = false;
  // Bash hands over `--option=value` as three words.
  for (const word of before.filter((one) => one !== "=")) {
    if (pending !== undefined) pending = undefined;
    else if (word === "--") areOptionsOver = true;
    else if (word.startsWith("-") && !areOptionsOver) {
      const [flag = "", value] = word.split(/=(.*)/s);
      if (value === undefined) pending = valueOf(command, flag);
    } else {
      const sub = command.commands.find(({ name }) => name === word);
      if (sub === undefined) given += 1;
      else command = sub;
    }
  }
  return { command, pending, given, areOptionsOver };
}

function valueOf(command: CommandTree, flag: string): Slot | undefined {
  return command.options.find(({ flags }) => flags.includes(flag))?.value;
}

// The words of the command line as data: commands, options and what their values are. The build writes them to
// dist/completion.json, so that a completion loads no command. They come from the Commander program alone.

/** The value of an option or argument. */
interface Slot {
  /** Whether the value is a path. */
  readonly isFile: boolean;
  readonly choices: readonly string[];
}

export interface CommandTree {
  readonly name: string;
  readonly summary: string;
  readonly commands: readonly CommandTree[];
  readonly options: readonly {
    readonly flags: readonly string[];
    readonly description: string;
    /** Value of the option. Absent: it takes none. */
    readonly value?: Slot;
  }[];
  readonly arguments: readonly Slot[];
}

export function treeOf(command: Command): CommandTree {
  const help = command.createHelp();
  return {
    name: command.name(),
    summary: command.summary() || command.description(),
    commands: help.visibleCommands(command as never).map((sub) => treeOf(sub as unknown as Command)),
    options: help.visibleOptions(command as never).map((option) => optionOf(option)),
    arguments: command.registeredArguments.map((argument) => slotOf(argument.name(), argument)),
  };
}

function optionOf(option: Option): CommandTree["options"][number] {
  const flags = [option.short, option.long].filter((flag) => typeof flag === "string");
  const { description } = option;
  const placeholder = /[<[]([^>\]]+)/.exec(option.flags)?.[1];
  if (placeholder === undefined) return { flags, description };
  return { flags, description, value: slotOf(placeholder, option) };
}

function slotOf(placeholder: string, { argChoices }: { argChoices?: readonly string[] | undefined }): Slot {
  return { isFile: /^(file|path|folder)$/.test(placeholder), choices: argChoices ?? [] };
}

const built = fileURLToPath(new URL("../../completion.json", import.meta.url));

/** The tree that the build wrote; undefined when the program runs from its sources. */
function builtTree(): CommandTree | undefined {
  try {
    return JSON.parse(readFileOnce(built, { links: "follow", maxBytes: 1_048_576 }).bytes.toString()) as CommandTree;
  } catch {
    return undefined;
  }
}

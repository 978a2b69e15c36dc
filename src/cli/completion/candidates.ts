/** Which words complete a command line: a pure function of the command tree and the line. */
import type { CommandTree, Slot } from "./command-tree.ts";

export interface Candidate {
  readonly word: string;
  readonly description: string;
}

export interface Candidates {
  readonly words: readonly Candidate[];
  /** Whether the shell completes a path. */
  readonly areFiles: boolean;
}

/** A command line up to the cursor, read as far as completion needs it. */
export interface ReadLine {
  readonly command: CommandTree;
  /** The option whose value comes next. */
  readonly pending: Slot | undefined;
  /** How many arguments the command has been given. */
  readonly given: number;
  readonly areOptionsOver: boolean;
}

/** @param words those before the cursor, without the program */
export function readLine(tree: CommandTree, words: readonly string[]): ReadLine {
  let command = tree;
  let pending: Slot | undefined;
  let given = 0;
  let areOptionsOver = false;
  // Bash hands over `--option=value` as three words.
  for (const word of words.filter((one) => one !== "=")) {
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

/** The words that may stand at the cursor. @param current what is typed of the word, which may be empty */
export function candidates(line: ReadLine, current: string): Candidates {
  const typed = current === "=" ? "" : current;
  const starting = ({ words, areFiles }: Candidates, prefix = ""): Candidates => ({
    areFiles,
    words: words
      .map(({ word, description }) => ({ word: `${prefix}${word}`, description }))
      .filter(({ word }) => word.startsWith(typed)),
  });
  const { command, pending, given, areOptionsOver } = line;
  if (pending !== undefined) return starting(valuesOf(pending));
  const [flag = "", value] = typed.split(/=(.*)/s);
  const slot = value === undefined ? undefined : valueOf(command, flag);
  if (slot !== undefined) return starting(valuesOf(slot), `${flag}=`);
  if (typed.startsWith("-") && !areOptionsOver) return starting(optionsOf(command));
  if (command.commands.length > 0) {
    return starting(wordsOnly(command.commands.map(({ name, summary }) => ({ word: name, description: summary }))));
  }
  const argument = command.arguments[given];
  if (argument !== undefined) return starting(valuesOf(argument));
  return areOptionsOver ? wordsOnly([]) : starting(optionsOf(command));
}

function valueOf(command: CommandTree, flag: string): Slot | undefined {
  return command.options.find(({ flags }) => flags.includes(flag))?.value;
}

function optionsOf({ options }: CommandTree): Candidates {
  return wordsOnly(options.map(({ flags, description }) => ({ word: flags.at(-1) ?? "", description })));
}

function valuesOf({ isFile, choices }: Slot): Candidates {
  return { words: choices.map((word) => ({ word, description: "" })), areFiles: isFile };
}

function wordsOnly(words: readonly Candidate[]): Candidates {
  return { words, areFiles: false };
}

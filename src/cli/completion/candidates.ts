/** Which words complete a command line: a pure function of the command tree, the names that are known, and the line. */
import type { CommandTree, Slot } from "./command-tree.ts";
import type { KnownNames } from "./known-names.ts";

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
  /** Values of options by long name. */
  readonly values: Readonly<Record<string, string>>;
}

/** @param words those before the cursor, without the program */
export function readLine(tree: CommandTree, words: readonly string[]): ReadLine {
  let command = tree;
  let pending: Slot | undefined;
  let given = 0;
  let areOptionsOver = false;
  const values: Record<string, string> = {};
  // Bash hands over `--option=value` as three words.
  for (const word of words.filter((one) => one !== "=")) {
    if (pending !== undefined) {
      values[pending.name] = word;
      pending = undefined;
    } else if (word === "--") areOptionsOver = true;
    else if (word.startsWith("-") && !areOptionsOver) {
      const [flag = "", value] = word.split(/=(.*)/s);
      const slot = valueOf(command, flag);
      if (value === undefined) pending = slot;
      else if (slot !== undefined) values[slot.name] = value;
    } else {
      const sub = command.commands.find(({ name }) => name === word);
      if (sub === undefined) given += 1;
      else command = sub;
    }
  }
  return { command, pending, given, areOptionsOver, values };
}

/** The words that may stand at the cursor. @param current what is typed of the word, which may be empty */
export function candidates(line: ReadLine, current: string, known: KnownNames): Candidates {
  const typed = current === "=" ? "" : current;
  const starting = ({ words, areFiles }: Candidates, prefix = ""): Candidates => ({
    areFiles,
    words: words
      .map(({ word, description }) => ({ word: `${prefix}${word}`, description }))
      .filter(({ word }) => word.startsWith(typed)),
  });
  const { command, pending, given, areOptionsOver } = line;
  if (pending !== undefined) return starting(valuesOf(pending, known));
  const [flag = "", value] = typed.split(/=(.*)/s);
  const slot = value === undefined ? undefined : valueOf(command, flag);
  if (slot !== undefined) return starting(valuesOf(slot, known), `${flag}=`);
  if (typed.startsWith("-") && !areOptionsOver) return starting(optionsOf(command));
  if (command.commands.length > 0) {
    return starting(wordsOnly(command.commands.map(({ name, summary }) => ({ word: name, description: summary }))));
  }
  const argument = command.arguments[given];
  if (argument !== undefined) return starting(valuesOf(argument, known));
  return areOptionsOver ? wordsOnly([]) : starting(optionsOf(command));
}

function valueOf(command: CommandTree, flag: string): Slot | undefined {
  return command.options.find(({ flags }) => flags.includes(flag))?.value;
}

function optionsOf({ options }: CommandTree): Candidates {
  return wordsOnly(options.map(({ flags, description }) => ({ word: flags.at(-1) ?? "", description })));
}

function valuesOf({ name, isFile, choices }: Slot, known: KnownNames): Candidates {
  const names = { run: known.runs, profile: known.profiles, operation: known.operations }[name] ?? [];
  return { words: [...choices, ...names].map((word) => ({ word, description: "" })), areFiles: isFile };
}

function wordsOnly(words: readonly Candidate[]): Candidates {
  return { words, areFiles: false };
}

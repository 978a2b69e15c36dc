/**
 * The words of the command line as data: commands, options and what their values are. The build writes them to
 * dist/completion.json, so that a completion loads no command. They come from the Commander program alone.
 */
import { fileURLToPath } from "node:url";
import type { Command, Option } from "@commander-js/extra-typings";
import { readFileOnce } from "#core/files/open-file.ts";

/** The value of an option or argument. */
export interface Slot {
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
    /** Absent: the option takes no value. */
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
export function builtTree(): CommandTree | undefined {
  try {
    return JSON.parse(readFileOnce(built, { links: "follow", mostBytes: 1_048_576 }).bytes.toString()) as CommandTree;
  } catch {
    return undefined;
  }
}

/** The options of commands that start a run or plan it. */
import type { z } from "zod";
import { Command, InvalidArgumentError, Option } from "@commander-js/extra-typings";
import { asCount, yesOption } from "#cli/context.ts";
import { whereOption } from "#cli/values.ts";
import { orderQuery } from "../contract.ts";

/** Descriptions of options that several commands have. */
export const optionTexts = {
  confirm: "confirm an irreversible operation with its number of SIMs; --yes is not enough",
  out: "write the results to this file (default: in the current folder, named after the input file)",
  detach: "submit the run, print its ID and return; needs a running worker",
} as const;

/** A command that plans rows. */
export function planningCommand(name: string, description: string) {
  return new Command(name)
    .description(description)
    .argument(
      "[file]",
      "CSV file with the column simId (or imsi) and a column for each input, such as speedClass; - is standard input",
    )
    .optionsGroup("What to change:")
    .addOption(whereOption("select SIMs from the inventory with a filter instead of a file"))
    .option("--operation <name>", "what to do to each SIM (default: set-speed-class)")
    .addOption(
      new Option("--set <input=value>", "a value for all rows instead of a column; repeatable").argParser(addValue),
    )
    .option("--speed-class <class>", "one speed class for all rows; short for --set speedClass=CLASS")
    .option("--from-results", "take a results file as input, whose values may be old")
    .option("--allow-unlisted", "send speed classes that the platform definition does not list");
}

/** `--set groupId=…`, repeatable. */
function addValue(text: string, before: Readonly<Record<string, string>> | undefined) {
  const at = text.indexOf("=");
  if (at < 1) throw new InvalidArgumentError("It must be an input and its value, such as groupId=g-1.");
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
}

/** A command that starts a run from the rows of another one. */
export function followUpCommand(name: string, description: string) {
  return new Command(name)
    .description(description)
    .argument("<run>", "ID of the finished run")
    .addOption(yesOption())
    .option("--confirm <n>", optionTexts.confirm, asCount)
    .option("-o, --out <file>", optionTexts.out)
    .option("--detach", optionTexts.detach);
}

/** The options of a command that have the name of a field in the query of a plan, as that query. */
export function orderQueryOf(options: { readonly set?: Readonly<Record<string, string>> | undefined }): OrderInput {
  const { set = {}, ...others } = options;
  const named = Object.entries(others).filter(([name]) => name in orderQuery.shape && !givenElsewhere.includes(name));
  return Object.fromEntries([
    ...named.map(([name, value]: [string, unknown]) => [name, value === true ? "true" : value]),
    ...Object.entries(set).map(([name, value]) => [`set.${name}`, value]),
  ]) as OrderInput;
}

type OrderInput = z.input<typeof orderQuery>;
/** The profile of a command may come from the configuration, and the confirmation from an answer. */
const givenElsewhere: readonly string[] = ["profile", "confirm"];

/** The options of commands that start a run or plan it. */
import { Command, InvalidArgumentError, Option } from "@commander-js/extra-typings";
import { asCount } from "#cli/context.ts";
import { whereOption } from "#cli/values.ts";
import type { WrittenWaves } from "#fleet/waves.ts";

/** Descriptions of options that several commands have. */
export const optionTexts = {
  confirm: "confirm an irreversible operation with its number of SIMs; --yes is not enough",
  out: "write the results to this file (default: in the current folder, named after the input file)",
  yes: "skip the confirmation; required without a terminal",
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
    .option("-y, --yes", optionTexts.yes)
    .option("--confirm <n>", optionTexts.confirm, asCount)
    .option("-o, --out <file>", optionTexts.out)
    .option("--detach", optionTexts.detach);
}

export interface OperationOptions extends WrittenWaves {
  readonly operation?: string | undefined;
  readonly set?: Readonly<Record<string, string>> | undefined;
  readonly speedClass?: string | undefined;
  readonly fromResults?: boolean | undefined;
  readonly allowUnlisted?: boolean | undefined;
}

/** The options, as the query of a plan. */
export function operationQuery(options: OperationOptions) {
  const { operation, set = {}, speedClass, fromResults, allowUnlisted } = options;
  const { waves, soak, gate, minSample, sample, onFailure, canary } = options;
  const of = { waves, soak, gate, minSample, sample, onFailure, canary };
  const values = Object.entries(set).map(([name, value]) => [`set.${name}`, value] as const);
  return {
    operation,
    speedClass,
    fromResults: fromResults === true ? ("true" as const) : undefined,
    allowUnlisted: allowUnlisted === true ? ("true" as const) : undefined,
    ...of,
    ...Object.fromEntries(values),
  };
}

/** The options that say what a run does to each SIM. */
import { InvalidArgumentError, Option } from "@commander-js/extra-typings";
import type { WrittenWaves } from "#fleet/waves.ts";

/** Descriptions of options that several commands have. */
export const optionTexts = {
  file: "CSV file with the column simId (or imsi) and a column for each input, such as speedClass; - is standard input",
  where: "select SIMs from the inventory with a filter instead of a file",
  confirm: "confirm an irreversible operation with its number of SIMs; --yes is not enough",
  out: "write the results to this file (default: in the current folder, named after the input file)",
} as const;

export function operationOption() {
  return new Option("--operation <name>", "what to do to each SIM (default: set-speed-class)");
}

/** `--set groupId=…`, repeatable. */
export function setOption() {
  return new Option("--set <input=value>", "a value for all rows instead of a column; repeatable").argParser(
    (text: string, before: Readonly<Record<string, string>> | undefined) => {
      const at = text.indexOf("=");
      if (at < 1) throw new InvalidArgumentError("It must be an input and its value, such as groupId=g-1.");
      return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
    },
  );
}

export function speedClassOption() {
  return new Option("--speed-class <class>", "one speed class for all rows; short for --set speedClass=CLASS");
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

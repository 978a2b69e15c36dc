/** The options that say what a run does to each SIM. */
import { InvalidArgumentError, Option } from "@commander-js/extra-typings";
import { orderStrings } from "../strings.ts";

export function operationOption() {
  return new Option("--operation <name>", orderStrings.operation);
}

/** `--set groupId=…`, repeatable. */
export function setOption() {
  return new Option("--set <input=value>", orderStrings.set).argParser(
    (text: string, before: Readonly<Record<string, string>> | undefined) => {
      const at = text.indexOf("=");
      if (at < 1) throw new InvalidArgumentError(orderStrings.setFault);
      return { ...before, [text.slice(0, at)]: text.slice(at + 1) };
    },
  );
}

export function speedClassOption() {
  return new Option("--speed-class <class>", orderStrings.speedClass);
}

export interface OperationOptions {
  readonly operation?: string | undefined;
  readonly set?: Readonly<Record<string, string>> | undefined;
  readonly speedClass?: string | undefined;
  readonly fromResults?: boolean | undefined;
}

/** The options, as the query of a plan. */
export function operationQuery({ operation, set = {}, speedClass, fromResults }: OperationOptions) {
  const values = Object.entries(set).map(([name, value]) => [`set.${name}`, value] as const);
  return {
    operation,
    speedClass,
    fromResults: fromResults === true ? ("true" as const) : undefined,
    ...Object.fromEntries(values),
  };
}

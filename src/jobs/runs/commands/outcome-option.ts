/** The option by which commands take rows with some outcome. */
import { Option } from "@commander-js/extra-typings";
import { oneOf } from "#cli/context.ts";
import { type Outcome, outcomes } from "#fleet/run.ts";

export function outcomeOption(description: string) {
  return new Option("--outcome <outcome>", description).argParser<Outcome[]>((text, before) => {
    return [...(before ?? []), oneOf(text, outcomes)];
  });
}

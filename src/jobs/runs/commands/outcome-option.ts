/** The option by which commands take rows with some outcome. */
import { InvalidArgumentError, Option } from "@commander-js/extra-typings";
import { type Outcome, outcomes } from "#fleet/run.ts";

export function outcomeOption(description: string) {
  return new Option("--outcome <outcome>", description).argParser<Outcome[]>((text, before) => {
    const outcome = outcomes.find((name) => name === text);
    if (outcome === undefined) throw new InvalidArgumentError(`It must be one of ${outcomes.join(", ")}.`);
    return [...(before ?? []), outcome];
  });
}

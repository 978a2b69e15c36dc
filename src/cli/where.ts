/** The option by which commands take a filter. */
import { Option } from "@commander-js/extra-typings";
import { type Filter, parseFilter } from "#fleet/filter.ts";

export function whereOption(description: string) {
  return new Option("--where <filter>", `${description}, such as tags.site=berlin`).argParser<string[]>(
    (text, before) => [...(before ?? []), text],
  );
}

/** @throws SimfleetError USAGE */
export function filterOf(texts: readonly string[] | undefined): Filter | undefined {
  return texts === undefined ? undefined : parseFilter(texts);
}

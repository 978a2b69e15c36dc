/** The `--where` option of commands that accept a filter. */
import { Option } from "@commander-js/extra-typings";
import { parseFilter } from "#fleet/filter.ts";

export function whereOption(description: string) {
  return new Option(
    "--where <filter>",
    `${description}, such as tags.site=berlin; repeatable, and all must match`,
  ).argParser<string[]>((text, before) => [...(before ?? []), text]);
}

/** Rejects a filter that cannot be read, before anything is opened. @throws SimfleetError USAGE */
export function assertFilter(texts: readonly string[] | undefined): void {
  if (texts !== undefined) parseFilter(texts);
}

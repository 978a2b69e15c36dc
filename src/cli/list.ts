/**
 * What all lists have in common: how many rows, which columns, and their order. `--columns` and `--sort` take the names
 * of the fields in the JSON document, and those of columns that are computed. Sorting needs all rows: a list with pages
 * rejects `--sort` if there are more rows than it shows, unless its route sorts them.
 */
import { Command } from "@commander-js/extra-typings";
import type { Answer, Route } from "#contract/route.ts";
import { SimfleetError } from "#core/errors.ts";
import { suggestion } from "#core/suggest.ts";
import { isPlainObject } from "#core/json.ts";
import { fieldIn } from "#fleet/sim/sim-fields.ts";
import { asCount, type Caller, type Context, withCaller } from "./context.ts";
import { shellWord } from "./format.ts";
import { type Output, type Terminal, table } from "./output.ts";

export interface Column<T> {
  /** A field of the JSON document, or the name of what `value` computes. */
  readonly name: string;
  /** Default: the name. */
  readonly heading?: string;
  /** Default: the field. */
  readonly value?: (item: T) => unknown;
}

export interface List<Name extends string, T> {
  /** Where the document has the items. */
  readonly name: Name;
  readonly route: Route;
  /** Columns of the table by default. */
  readonly columns: readonly Column<T>[];
  /** Shown instead of an empty table. */
  readonly empty: string;
  readonly below?: (items: readonly T[]) => readonly string[];
}

/** Declares how the items are shown that the response of a route has under a name. */
export function listOf<R extends Route, const Name extends keyof Answer<R> & string>(
  name: Name,
  route: R,
  shown: Omit<List<Name, ItemOf<Answer<R>[Name]>>, "name" | "route">,
) {
  return { name, route, ...shown };
}

type ItemOf<Items> = NonNullable<Items> extends readonly (infer Item)[] ? Item : never;

export interface ListOptions {
  readonly limit?: number | undefined;
  readonly columns?: readonly string[] | undefined;
  readonly sort?: string | undefined;
  readonly cursor?: string | undefined;
}

/** Adds the options of a list that comes whole. */
export function withListOptions<A extends unknown[], O extends Record<string, unknown>>(
  command: Command<A, O>,
  limit = "all",
): Command<A, O & { limit?: number; columns?: string[]; sort?: string }> {
  return (command as unknown as Command)
    .option("-n, --limit <n>", `maximum number of results (default: ${limit})`, asCount)
    .option("--columns <names>", "comma-separated columns; the fields of --json are their names", asNames)
    .option("--sort <field>", "sort the list by this column; -FIELD reverses the order") as never;
}

/** Adds the options of a list with pages. */
export function withPageOptions<A extends unknown[], O extends Record<string, unknown>>(
  command: Command<A, O>,
  limit = 50,
): Command<A, O & { limit: number; cursor?: string; columns?: string[]; sort?: string }> {
  return (withListOptions(command, `${limit}, at most 1,000`) as unknown as Command)
    .option("--cursor <cursor>", "continue after the page that returned this cursor")
    .setOptionValueWithSource("limit", limit, "default") as never;
}

/** The command `list` of a group, for a list that comes whole. */
export function listCommand<Name extends string, T>(
  context: Context,
  group: string,
  list: List<Name, T>,
  description: string,
): Command {
  const command = withListOptions(new Command("list").description(description));
  return withCaller(context, command, `simfleet ${group} list`, listing(list));
}

/** The action of a command that prints a list. Options that are parameters of its route are passed to it. */
export function listing<Name extends string, T>(list: List<Name, T>) {
  return async ({ client, profile, output }: Caller, options: ListOptions): Promise<void> => {
    const given: Readonly<Record<string, unknown>> = { ...options, profile };
    const names = Object.keys(list.route.query?.shape ?? {});
    const query = Object.fromEntries(names.map((name) => [name, given[name]]));
    const page: unknown = await client.call(list.route, { query });
    answerList(output, page as { readonly [N in Name]: readonly T[] }, list, options);
  };
}

/** Prints a page of a list. @throws SimfleetError USAGE for an unknown column, or `sort` if there are more pages */
export function answerList<Name extends string, T>(
  output: Output,
  page: { readonly [N in Name]: readonly T[] } & { readonly nextCursor?: string | null },
  list: List<Name, T>,
  { limit, columns: names, sort, cursor }: ListOptions,
): void {
  const items = page[list.name];
  // The rows of one page in order would look like the first rows of the whole list.
  if (sort !== undefined && cursor !== undefined)
    throw new SimfleetError("USAGE", "--sort needs the whole list: leave out --cursor or --sort");
  if (sort !== undefined && page.nextCursor)
    throw new SimfleetError(
      "USAGE",
      "--sort needs the whole list, and there are more rows than --limit: raise it (up to 1000), or leave out --sort",
    );
  for (const name of [...(names ?? []), ...(sort === undefined ? [] : [sort.replace(/^-/, "")])]) {
    assertKnown(name, list, items);
  }
  const shown = sorted(items, list, sort).slice(0, limit);
  const columns = names?.map((name) => findColumn(list, name));
  output.answer({ ...page, [list.name]: shown }, (document, terminal) =>
    listText((document as typeof page)[list.name], list, { columns, terminal }),
  );
  if (page.nextCursor && !output.isJson) output.say(`More: ${continuing(output.words, page.nextCursor)}`);
}

function continuing(words: readonly string[], cursor: string): string {
  const others = words.filter((word, i) => !/^--cursor(=|$)/.test(word) && words[i - 1] !== "--cursor");
  return ["simfleet", ...others, "--cursor", cursor].map(shellWord).join(" ");
}

/** @param columns default: those of the list */
export function listText<T>(
  items: readonly T[],
  list: Pick<List<string, T>, "columns" | "empty" | "below">,
  shown: { readonly columns?: readonly Column<T>[] | undefined; readonly terminal?: Terminal | undefined } = {},
): string {
  const { columns = list.columns, terminal } = shown;
  if (items.length === 0) return list.empty;
  const rows = items.map((item) =>
    columns.map((column) => {
      const value = valueOf(item, column);
      return typeof value === "number" ? value : cellText(value);
    }),
  );
  return [table(columns.map(formatHeading), rows, terminal), ...(list.below?.(items) ?? [])].join("\n");
}

/** A value as text: `a=1 b=2` for an object, `-` for nothing. */
function cellText(value: unknown): string {
  if (value === undefined || value === null || value === "") return "-";
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.length === 0 ? "-" : value.map(cellText).join(", ");
  if (typeof value !== "object") return JSON.stringify(value);
  return Object.entries(value)
    .map(([name, inner]) => `${name}=${cellText(inner)}`)
    .join(" ");
}

/** The fields of one document that have a value, a line each. */
export function fieldsText(document: object): string {
  const fields = Object.entries(document).filter(([, value]) => value !== null);
  const width = Math.max(...fields.map(([name]) => name.length));
  return fields.map(([name, value]) => `${name.padEnd(width)}  ${cellText(value)}`).join("\n");
}

/** `speedClass` is headed SPEED CLASS, `counts.done` COUNTS DONE. */
function formatHeading({ name, heading }: Pick<Column<never>, "name" | "heading">): string {
  return (heading ?? name)
    .replaceAll(/([a-z])([A-Z])/g, "$1 $2")
    .replaceAll(".", " ")
    .toUpperCase();
}

function valueOf<T>(item: T, { name, value }: Column<T>): unknown {
  return value === undefined ? fieldIn(item, name) : value(item);
}

/** Items without a value are the last ones in both orders. */
function sorted<T>(items: readonly T[], list: List<string, T>, sort: string | undefined): readonly T[] {
  if (sort === undefined) return items;
  const column = findColumn(list, sort.replace(/^-/, ""));
  const sign = sort.startsWith("-") ? -1 : 1;
  return items.toSorted((a, b) => {
    const [left, right] = [valueOf(a, column) ?? undefined, valueOf(b, column) ?? undefined];
    if (left === undefined || right === undefined) return Number(left === undefined) - Number(right === undefined);
    return sign * compared(left, right);
  });
}

/** A column of the list, or a field. */
function findColumn<T>({ columns }: List<string, T>, name: string): Column<T> {
  return columns.find((column) => column.name === name) ?? { name };
}

function compared(a: unknown, b: unknown): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  const [left, right] = [cellText(a), cellText(b)];
  return left === right ? 0 : left < right ? -1 : 1;
}

/** Fields are known from the route, as members of an item, and as computed columns. @throws SimfleetError USAGE */
function assertKnown<T>(name: string, list: List<string, T>, items: readonly T[]): void {
  const fields = fieldsOfRoute(list);
  const known = new Set([...list.columns.map((column) => column.name), ...fields]);
  for (const item of items) for (const field of listMembers(item)) known.add(field);
  // Of an empty list of SIMs, the fields are not known.
  if (known.has(name) || (items.length === 0 && fields.length === 0)) return;
  const names = [...known];
  throw new SimfleetError(
    "USAGE",
    `There is no column ${name}.${suggestion(name, names)} Columns: ${names.toSorted().join(", ")}`,
  );
}

function fieldsOfRoute({ route, name }: List<string, never>): readonly string[] {
  const { shape } = route.answer as { shape?: Record<string, { element?: { shape?: object } }> };
  return Object.keys(shape?.[name]?.element?.shape ?? {});
}

function listMembers(item: unknown): string[] {
  if (!isPlainObject(item)) return [];
  return Object.entries(item).flatMap(([name, value]) => [
    name,
    ...listMembers(value).map((inner) => `${name}.${inner}`),
  ]);
}

function asNames(text: string): string[] {
  return text.split(",").map((name) => name.trim());
}

/** Documents, a line each, as one with the list, as --json promises. @param lots text that may end within a line */
export async function* oneDocument(name: string, lots: AsyncIterable<string>): AsyncGenerator<string> {
  // Not before the first lot: a call that fails has a document of its own.
  let separator = `{"${name}": [\n`;
  let rest = "";
  for await (const lot of lots) {
    const lines = (rest + lot).split("\n");
    rest = lines.pop() ?? "";
    if (lines.length === 0) continue;
    yield separator + lines.join(",\n");
    separator = ",\n";
  }
  yield separator === ",\n" ? '\n], "nextCursor": null}\n' : `{"${name}": [], "nextCursor": null}\n`;
}

/** State of the SIM explorer in the address (filter, search, order, presence), and the rows that it draws. */
import { textOf } from "./filter.ts";
import type { SimDocument, SimField } from "../shapes.ts";

export interface Shown {
  readonly where: string;
  readonly search: string;
  /** A field, with `-` before it for the reverse order; empty: the last added SIM first. */
  readonly sort: string;
  readonly gone: boolean;
}

export function shownOf(query: Readonly<Record<string, string>>): Shown {
  const { where = "", search = "", sort = "", gone } = query;
  return { where, search, sort, gone: gone === "true" };
}

/** The same as the query of an address and of a request; empty parts are left out there. */
export function queryOfShown({ where, search, sort, gone }: Shown): Record<string, string | undefined> {
  return { where, search: search.trim(), sort, gone: gone ? "true" : undefined };
}

/** A filter for everything that is shown; a search has none. */
export function filterOfShown({ where }: Shown, keyColumn: string): string {
  return where === "" ? `${keyColumn} exists` : where;
}

/** A filter has at most so many characters. */
const longestFilter = 4_000;

/** A filter for these SIMs; undefined if they are too many for one. */
export function filterOfSims(keys: readonly string[], keyColumn: string): string | undefined {
  const text = textOf({ field: keyColumn, operator: keys.length === 1 ? "=" : "in", values: keys });
  return text.length > longestFilter ? undefined : text;
}

/** A part of an ID is searched, and anything else is a filter. */
export function searchOrFilter(written: string): Pick<Shown, "where" | "search"> {
  const text = written.trim();
  return /^[\w-]+$/.test(text) ? { where: "", search: text } : { where: text, search: "" };
}

const titles: Readonly<Record<string, string>> = {
  simId: "SIM ID",
  imsi: "IMSI",
  msisdn: "MSISDN",
  iccid: "ICCID",
  imei: "IMEI",
  groupId: "Group",
  addedAt: "Added",
  updatedAt: "Changed",
  updatedBy: "Changed by",
  seenAt: "Seen",
  goneAt: "Gone",
};

/** The name of a field in words: `speedClass` is "Speed class", `tags.site` is "Tag site". */
export function fieldTitle(name: string): string {
  const words = name
    .replace(/^tags\./, "tag ")
    .replaceAll(/(?<=[a-z])[A-Z]|\.\w/g, (at) => ` ${at.replace(".", "").toLowerCase()}`);
  return titles[name] ?? words.charAt(0).toUpperCase() + words.slice(1);
}

/** Next order after a click on a column's header. */
export function nextSort(sort: string, field: string): string {
  if (sort === field) return `-${field}`;
  return sort === `-${field}` ? "" : field;
}

/** Facts about the record that are columns too. */
export const recordFields = ["addedAt", "updatedAt", "updatedBy", "seenAt", "goneAt"] as const;

export function columnsOf(fields: readonly SimField[]): string[] {
  return [...fields.map(({ name }) => name), ...recordFields];
}

/**
 * The columns by which a list can be sorted: the key, and all others if few SIMs are listed.
 * @param count undefined while it is not known
 */
export function sortableColumns(
  fields: readonly SimField[],
  { count, maxSorted }: { readonly count: number | undefined; readonly maxSorted: number },
): ReadonlySet<string> {
  const isShort = count !== undefined && count <= maxSorted;
  const columns = isShort ? columnsOf(fields) : fields.filter(({ isSortable }) => isSortable).map(({ name }) => name);
  // All listed SIMs were seen by the same sync.
  return new Set(columns.filter((name) => name !== "seenAt"));
}

const usual = ["simId", "imsi", "speedClass", "status", "groupId", "updatedAt"];

/** The columns to start with: the usual ones that the fleet has, and its first tag with few values. */
export function firstColumns(fields: readonly SimField[]): string[] {
  const all = columnsOf(fields);
  const tag = fields.find(({ name, values }) => values.length > 0 && name.startsWith("tags."))?.name;
  return all.filter((name) => usual.includes(name) || name === tag);
}

/** A field of a SIM, `tags.site` for a member. */
export function fieldOf(sim: SimDocument, name: string): unknown {
  if (name in sim) return sim[name];
  const at = name.indexOf(".");
  if (at < 0) return undefined;
  const object = sim[name.slice(0, at)];
  return typeof object === "object" && object !== null ? fieldOf(object as SimDocument, name.slice(at + 1)) : undefined;
}

export interface Sight {
  readonly scrollTop: number;
  readonly height: number;
  readonly rowHeight: number;
}

/** Visible rows of a long list, and some before and after. */
export interface DrawnRows {
  readonly from: number;
  /** Exclusive. */
  readonly to: number;
}

const spare = 12;

export function drawnRows(rows: number, { scrollTop, height, rowHeight }: Sight): DrawnRows {
  const first = Math.floor(scrollTop / rowHeight);
  const last = Math.ceil((scrollTop + height) / rowHeight);
  return { from: Math.max(0, Math.min(rows, first - spare)), to: Math.min(rows, last + spare) };
}

/** Whether the end of what is loaded is near. */
export function isNearEnd(rows: number, drawn: DrawnRows): boolean {
  return drawn.to >= rows - 2 * spare;
}

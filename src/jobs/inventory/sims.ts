/**
 * Reads of the inventory: lists, counts, the fields with their values, and exports. A list of any length is sorted by
 * the key, from the keys alone. By anything else, the SIMs are read and sorted in memory, so their number is limited.
 */
import { grouped } from "#core/grouped.ts";
import { type Clock, isoTime } from "#core/time.ts";
import { SimfleetError, badCursor } from "#core/errors.ts";
import { jsonIn } from "#core/json.ts";
import { suggestion } from "#core/suggest.ts";
import { type Filter, conditionsIn, everySim } from "#fleet/filter.ts";
import type { KeyColumn } from "#fleet/sim/sim.ts";
import { documentOf, fieldIn, textOf } from "#fleet/sim/sim-fields.ts";
import { csvLine } from "#intake/cell.ts";
import type { Call } from "#contract/route.ts";
import type { SimCounts, SimDocument, SimField, listSims } from "./contract.ts";
import {
  type FoundKey,
  type FoundSim,
  type Inventory,
  type InventoryFacts,
  type ScanOptions,
  fieldTextOf,
} from "./store/inventory.ts";
import type { KnownSim } from "./records/sim-record.ts";

/** Number of SIMs that can be sorted by another field than the key. */
export const maxSorted = 10_000;
const maxFields = 100;

/** The SIMs of a profile that a request selects. */
export type Selection = ScanOptions & { readonly profile: string; readonly filter: Filter };

// Counts.

/** @returns `isExact`: false if the time ran out, and there may be more */
export async function countSims(
  inventory: Inventory,
  { profile, filter, ...options }: Selection,
  { clock, limitMs }: { clock: Clock; limitMs: number },
): Promise<{ count: number; isExact: boolean }> {
  const counts = await inventory.counts(profile, filter, options);
  if (counts !== undefined) return { count: counts.total, isExact: true };
  const endMs = clock.monotonicMs() + limitMs;
  let count = 0;
  for await (const found of inventory.find(profile, filter, options)) {
    count += found.length;
    if (clock.monotonicMs() > endMs) return { count, isExact: false };
  }
  return { count, isExact: true };
}

/** More values are no help to a user, and take memory. */
const maxValues = 10_000;

/**
 * Counts SIMs by the value of a field, from the index or from the records, in bounded memory.
 * @throws SimfleetError USAGE for a field with too many values
 */
export async function countByValue(
  inventory: Pick<Inventory, "scan" | "counts">,
  query: Omit<Selection, "search"> & { readonly field?: string | undefined },
  max = maxValues,
): Promise<Pick<SimCounts, "total" | "values">> {
  const { profile, filter, field, ...options } = query;
  const indexed = await inventory.counts(profile, filter, { ...options, field });
  if (indexed !== undefined) return { total: indexed.total, values: mostFrequentFirst(indexed.values) };
  const counts = new Map<string | null, number>();
  let total = 0;
  for await (const found of inventory.scan(profile, filter, options)) {
    total += found.length;
    if (field === undefined) continue;
    for (const { key, sim } of found) {
      const value = (field === query.keyColumn ? key : fieldTextOf(sim, field)) ?? null;
      counts.set(value, (counts.get(value) ?? 0) + 1);
    }
    if (counts.size > max) {
      throw new SimfleetError(
        "USAGE",
        `${field} has more than ${grouped(max)} values: count by another field, or narrow the filter`,
      );
    }
  }
  return { total, values: mostFrequentFirst(counts) };
}

/** The counts of several profiles, each value with its profile. */
export function countsOfAll(
  all: readonly { readonly profile: string; readonly counts: Pick<SimCounts, "total" | "values"> }[],
): Pick<SimCounts, "total" | "values" | "profiles"> {
  return {
    total: all.reduce((sum, { counts }) => sum + counts.total, 0),
    values: all.flatMap(({ profile, counts }) => counts.values.map((one) => ({ profile, ...one }))),
    profiles: all.map(({ profile, counts }) => ({ profile, count: counts.total })),
  };
}

function mostFrequentFirst(counts: ReadonlyMap<string | null, number>): SimCounts["values"] {
  return [...counts]
    .map(([value, count]) => ({ value, count }))
    .toSorted((a, b) => b.count - a.count || ((a.value ?? "") < (b.value ?? "") ? -1 : 1));
}

/** A SIM as lists, exports and single reads show it. */
export function documentOfSim(
  { key, sim }: FoundSim,
  { keyColumn, facts }: { keyColumn: KeyColumn; facts: Pick<InventoryFacts, "listedAtMs"> },
): SimDocument {
  const { fields, addedAtMs, updatedAtMs, updatedBy, goneAtMs } = sim;
  // A sync writes nothing for an unchanged SIM, but has seen it all the same.
  const listedAtMs = goneAtMs === undefined ? (facts.listedAtMs ?? 0) : 0;
  return {
    [keyColumn]: key,
    ...documentOf(fields),
    addedAt: isoTime(addedAtMs),
    updatedAt: isoTime(updatedAtMs),
    updatedBy,
    seenAt: isoTime(Math.max(updatedAtMs, listedAtMs)),
    goneAt: isoTime(goneAtMs),
  };
}

export type PageRequest = Pick<Call<typeof listSims>["query"], "limit" | "cursor">;

// Lists in the order in which SIMs were added.

/** The SIMs that were added last first. @throws SimfleetError USAGE for an invalid cursor */
export async function newestPage(
  inventory: Inventory,
  { profile, filter, ...selection }: Selection,
  { limit, cursor }: PageRequest,
): Promise<{ readonly found: readonly FoundSim[]; readonly nextCursor: string | null }> {
  if (cursor !== undefined && !/^\d{1,15}$/.test(cursor)) throw badCursor(cursor);
  const from = cursor === undefined ? undefined : Number(cursor);
  const found: FoundSim[] = [];
  for await (const some of inventory.scan(profile, filter, { order: "newest-first", from, ...selection })) {
    found.push(...some);
    if (found.length > limit) break;
  }
  const next = found[limit];
  return { found: found.slice(0, limit), nextCursor: next === undefined ? null : String(next.sim.ordinal) };
}

// Lists in the order of a field.

/** @param text `groupId`, or `-groupId` for the reverse order */
export function orderOf(text: string) {
  const isDescending = text.startsWith("-");
  return { field: isDescending ? text.slice(1) : text, isDescending };
}

type Order = ReturnType<typeof orderOf>;

/** Values of a SIM's record that are not fields, as texts with the same order. */
const ofRecord: ReadonlyMap<string, (sim: KnownSim) => string | undefined> = new Map([
  ["addedAt", ({ addedAtMs }) => String(addedAtMs)],
  ["updatedAt", ({ updatedAtMs }) => String(updatedAtMs)],
  ["updatedBy", ({ updatedBy }) => updatedBy],
  ["goneAt", ({ goneAtMs }) => goneAtMs?.toString()],
]);

/** Names of further values that SIMs can be sorted by. */
export const namesOfRecord: readonly string[] = [...ofRecord.keys()];

/** Where a SIM is in the order: its value, undefined if it has none, and its ordinal among equal ones. */
type Place = FoundKey & { readonly value: string | undefined };

/** @throws SimfleetError USAGE for too many SIMs */
export async function sortedPage(
  inventory: Inventory,
  selection: Selection,
  { order, limit, cursor }: PageRequest & { readonly order: Order },
): Promise<{ readonly found: readonly FoundSim[]; readonly nextCursor: string | null }> {
  const compare = comparing(order);
  const after = cursor === undefined ? undefined : parseCursor(cursor);
  const isAfter = (place: Place): boolean => after === undefined || compare(place, after) > 0;
  const first = keepFirst(limit + 1, compare);
  let total = 0;
  for await (const places of scanPlaces(inventory, selection, order.field)) {
    total += places.length;
    if (total > maxSorted && order.field !== selection.keyColumn) throw tooMany(order.field, selection.keyColumn);
    first.add(places.filter(isAfter));
  }
  const places = first.kept();
  const shown = places.slice(0, limit);
  const last = shown.at(-1);
  return {
    found: await inventory.read(selection.profile, selection.filter, shown, selection),
    nextCursor: places.length > limit && last !== undefined ? encodeCursor(last) : null,
  };
}

async function* scanPlaces(inventory: Inventory, selection: Selection, field: string): AsyncGenerator<Place[]> {
  const { profile, filter, keyColumn } = selection;
  if (field === keyColumn) {
    for await (const found of inventory.find(profile, filter, selection)) {
      yield found.map(({ key, ordinal }) => ({ key, ordinal, value: key }));
    }
    return;
  }
  // Whole numbers as texts that sort like them.
  const textIn = (sim: KnownSim) =>
    fieldTextOf(sim, field)?.replace(/^\d{1,16}$/, (digits) => digits.padStart(16, "0"));
  const valueOf = ofRecord.get(field) ?? textIn;
  for await (const found of inventory.scan(profile, filter, selection)) {
    yield found.map(({ key, sim }) => ({ key, ordinal: sim.ordinal, value: valueOf(sim) }));
  }
}

/** Keeps the first so many of those that are added. */
function keepFirst(max: number, compare: (a: Place, b: Place) => number) {
  let some: Place[] = [];
  const cut = (): Place[] => (some = some.toSorted(compare).slice(0, max));
  return {
    add: (places: readonly Place[]): void => {
      some.push(...places);
      if (some.length > 20 * max) cut();
    },
    kept: cut,
  };
}

/** By value, those without one last; among equal ones in the order in which they were added. */
function comparing({ isDescending }: Order): (a: Place, b: Place) => number {
  const sign = isDescending ? -1 : 1;
  return (a, b) => {
    if (a.value === b.value) return a.ordinal - b.ordinal;
    if (a.value === undefined) return 1;
    if (b.value === undefined) return -1;
    return a.value < b.value ? -sign : sign;
  };
}

function tooMany(field: string, keyColumn: KeyColumn): SimfleetError {
  const message = `More than ${grouped(maxSorted)} SIMs match, so they cannot be sorted by ${field}: narrow the filter, or sort by ${keyColumn}`;
  return new SimfleetError("USAGE", message);
}

function encodeCursor({ value, ordinal }: Place): string {
  return Buffer.from(JSON.stringify([ordinal, value])).toString("base64url");
}

/** @throws SimfleetError USAGE */
function parseCursor(cursor: string): Place {
  const read = jsonIn(Buffer.from(cursor, "base64url").toString("utf8"));
  const [ordinal, value] = Array.isArray(read) ? (read as unknown[]) : [];
  if (typeof ordinal === "number" && (typeof value === "string" || value === null || value === undefined)) {
    return { key: "", ordinal, value: value ?? undefined };
  }
  throw badCursor(cursor);
}

/**
 * A page of several profiles, one after the other. The cursor names the profile: `plant.120`.
 * @throws SimfleetError USAGE for an invalid cursor; as `pageOf`
 */
export async function pageOfAll<T extends { readonly profile: string }>(
  all: readonly T[],
  { limit, cursor }: PageRequest,
  pageOf: (one: T, page: PageRequest) => Promise<{ sims: SimDocument[]; nextCursor: string | null }>,
): ReturnType<typeof pageOf> {
  const [, named, inner = ""] = /^([\w-]+)\.(.*)$/.exec(cursor ?? "") ?? [];
  const first = cursor === undefined ? 0 : all.findIndex(({ profile }) => profile === named);
  if (first < 0) throw badCursor(cursor ?? "");
  const sims: SimDocument[] = [];
  for (const [n, one] of all.slice(first).entries()) {
    if (sims.length === limit) return { sims, nextCursor: `${one.profile}.` };
    const from = n === 0 && inner !== "" ? inner : undefined;
    const page = await pageOf(one, { limit: limit - sims.length, cursor: from });
    sims.push(...page.sims);
    if (page.nextCursor !== null) return { sims, nextCursor: `${one.profile}.${page.nextCursor}` };
  }
  return { sims, nextCursor: null };
}

// Fields.

/** Fields that are listed first. */
const usual = ["speedClass", "status", "groupId", "subscription"];

function rankOf(field: string): number {
  return usual.includes(field) ? usual.indexOf(field) : usual.length;
}

/** The key first, then the indexed fields with their values, then the others that some of the first SIMs have. */
export async function fieldsOf(inventory: Inventory, profile: string, keyColumn: KeyColumn): Promise<SimField[]> {
  const fields: SimField[] = [{ name: keyColumn, values: [], isSortable: true }];
  const indexed = await inventory.indexedFields(profile);
  for (const { field, values } of indexed.toSorted((a, b) => rankOf(a.field) - rankOf(b.field))) {
    fields.push({ name: field, values: [...values].toSorted(), isSortable: false });
  }
  const others = new Map<string, Set<string>>();
  for await (const found of inventory.scan(profile, everySim, { order: "newest-first", keyColumn })) {
    for (const { sim } of found) {
      for (const [name, value] of sim.fields) {
        if (fields.some((one) => one.name === name)) continue;
        others.set(name, (others.get(name) ?? new Set()).add(textOf(value)));
      }
    }
    break;
  }
  for (const [name, values] of others) {
    // A field whose values are nearly all different, such as a name, is not offered as a list.
    fields.push({ name, values: values.size > 50 ? [] : [...values].toSorted(), isSortable: false });
  }
  return fields.slice(0, maxFields);
}

// Names of fields that no SIM has are rejected. `speedclass!=s1.fast` (wrong case) would otherwise select every SIM,
// since a SIM without the field matches `!=` and `not exists`; and an exported column of that name would be empty.

interface Searched extends Pick<Selection, "profile" | "keyColumn"> {
  readonly facts: InventoryFacts;
}

/** @throws SimfleetError USAGE, as `assertNamesKnown` */
export async function assertFieldsKnown(
  inventory: Inventory,
  { filter, ...of }: Pick<Selection, "profile" | "filter" | "keyColumn">,
): Promise<void> {
  const facts = await inventory.facts(of.profile);
  await assertNamesKnown(inventory, [{ ...of, facts }], fieldsIn(filter));
}

export function fieldsIn({ expression }: Filter): string[] {
  return conditionsIn(expression).map(({ field }) => field);
}

/**
 * A field is known if one of the profiles has it; an empty inventory knows nothing.
 * @param others names that are accepted as well
 * @throws SimfleetError USAGE with the field, a suggestion, and the existing fields
 */
export async function assertNamesKnown(
  inventory: Inventory,
  all: readonly Searched[],
  fields: readonly string[],
  others: readonly string[] = [],
): Promise<void> {
  const filled = all.filter(({ facts }) => facts.known + facts.gone > 0);
  const [first] = filled;
  if (first === undefined) return;
  for (const field of new Set(fields)) {
    if (others.includes(field)) continue;
    const having = await Promise.all(filled.map((one) => hasField(inventory, one, field)));
    if (having.includes(true)) continue;
    const found = await fieldsOf(inventory, first.profile, first.keyColumn);
    const existing = new Set([...first.facts.fields, ...found.map(({ name }) => name)]);
    const listed = [...[...existing].toSorted().slice(0, 40), ...others];
    throw new SimfleetError(
      "USAGE",
      `No SIM in the inventory has the field ${field}.${suggestion(field, listed)} Known fields: ${listed.join(", ")}`,
    );
  }
}

async function hasField(inventory: Inventory, { profile, keyColumn, facts }: Searched, field: string) {
  // What complete syncs store is known even if no SIM has a value.
  if (field === keyColumn || (facts.isComplete && facts.fields.includes(field))) return true;
  const filter: Filter = { text: `${field} exists`, expression: { kind: "exists", field, values: [] } };
  for await (const found of inventory.find(profile, filter, { presence: "all", keyColumn })) {
    if (found.length > 0) return true;
  }
  return false;
}

// Exports the inventory: as CSV for spreadsheets and for `plan` and `apply`, or as NDJSON with raw values.

/** When each SIM was seen, and what changed it last. */
export const timeColumns: readonly string[] = ["addedAt", "updatedAt", "updatedBy", "seenAt", "goneAt"];

/** @param options `columns` of the CSV; an object is JSON there */
export async function* exportLines(
  sims: AsyncIterable<readonly SimDocument[]>,
  { format, columns }: { readonly format: "csv" | "ndjson"; readonly columns: readonly string[] },
): AsyncGenerator<string> {
  if (format === "ndjson") {
    for await (const batch of sims) yield batch.map((sim) => `${JSON.stringify(sim)}\n`).join("");
    return;
  }
  yield csvLine(columns);
  for await (const batch of sims) {
    yield batch.map((sim) => csvLine(columns.map((column) => formatCell(sim, column)))).join("");
  }
}

function formatCell(document: SimDocument, column: string): string {
  const value = fieldIn(document, column);
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/**
 * What the SIM explorer asks for: a list sorted by a field, a count within a time limit, and the fields with their values.
 * A list of any length is sorted by the key, from the keys alone. By anything else, the SIMs are read and sorted in memory,
 * so their number is limited.
 */
import type { Clock } from "#core/time.ts";
import { SimfleetError } from "#core/errors.ts";
import { type Filter, everySim } from "#fleet/filter.ts";
import type { KeyColumn } from "#fleet/sim/sim.ts";
import { textOf } from "#fleet/sim/sim-fields.ts";
import type { SimField } from "./contract.ts";
import { type FoundSim, type Inventory, type SimPresence, fieldTextOf } from "./store/inventory.ts";
import type { KnownSim } from "./records/sim-record.ts";

/** Number of SIMs that can be sorted by another field than the key. */
export const maxSorted = 10_000;
const maxFields = 100;

export interface Selection {
  readonly filter: Filter;
  readonly presence: SimPresence;
  readonly keyColumn: KeyColumn;
  readonly search?: string | undefined;
}

/** The SIMs of a profile. */
interface Fleet {
  readonly inventory: Inventory;
  readonly profile: string;
}

// Counts.

/** @returns `isExact`: false if the time ran out, and there may be more */
export async function countSims(
  { inventory, profile }: Fleet,
  selection: Selection,
  { clock, limitMs }: { clock: Clock; limitMs: number },
): Promise<{ count: number; isExact: boolean }> {
  const counts = await inventory.counts(profile, selection.filter, selection);
  if (counts !== undefined) return { count: counts.total, isExact: true };
  const endMs = clock.monotonicMs() + limitMs;
  let count = 0;
  for await (const found of inventory.find(profile, selection.filter, selection)) {
    count += found.length;
    if (clock.monotonicMs() > endMs) return { count, isExact: false };
  }
  return { count, isExact: true };
}

// Lists in the order of a field.

export interface Order {
  readonly field: string;
  readonly isDescending: boolean;
}

/** @param text `groupId`, or `-groupId` for the reverse order */
export function orderOf(text: string): Order {
  return text.startsWith("-") ? { field: text.slice(1), isDescending: true } : { field: text, isDescending: false };
}

/** What belongs to the record of a SIM, as text that sorts like it. */
const ofRecord: ReadonlyMap<string, (sim: KnownSim) => string | undefined> = new Map([
  ["addedAt", ({ addedAtMs }) => String(addedAtMs)],
  ["updatedAt", ({ updatedAtMs }) => String(updatedAtMs)],
  ["updatedBy", ({ updatedBy }) => updatedBy],
  ["goneAt", ({ goneAtMs }) => goneAtMs?.toString()],
]);

/** What SIMs can be sorted by besides their fields. */
export const namesOfRecord: readonly string[] = [...ofRecord.keys()];

/** Where a SIM is in the order: its value, undefined if it has none, and its ordinal among equal ones. */
interface Place {
  readonly key: string;
  readonly value: string | undefined;
  readonly ordinal: number;
}

/** @throws SimfleetError USAGE for too many SIMs */
export async function sortedPage(
  fleet: Fleet,
  selection: Selection,
  { order, limit, cursor }: { readonly order: Order; readonly limit: number; readonly cursor?: string | undefined },
): Promise<{ readonly found: readonly FoundSim[]; readonly nextCursor: string | null }> {
  const compare = comparing(order);
  const after = cursor === undefined ? undefined : placeOf(cursor);
  const isAfter = (place: Place): boolean => after === undefined || compare(place, after) > 0;
  const first = firstOf(limit + 1, compare);
  let total = 0;
  for await (const places of placesOf(fleet, selection, order.field)) {
    total += places.length;
    if (total > maxSorted && order.field !== selection.keyColumn) throw tooMany(order.field, selection.keyColumn);
    first.add(places.filter(isAfter));
  }
  const places = first.kept();
  const shown = places.slice(0, limit);
  const last = shown.at(-1);
  return {
    found: await fleet.inventory.read(fleet.profile, selection.filter, shown, selection),
    nextCursor: places.length > limit && last !== undefined ? cursorOf(last) : null,
  };
}

async function* placesOf({ inventory, profile }: Fleet, selection: Selection, field: string): AsyncGenerator<Place[]> {
  if (field === selection.keyColumn) {
    for await (const found of inventory.find(profile, selection.filter, selection)) {
      yield found.map(({ key, ordinal }) => ({ key, ordinal, value: key }));
    }
    return;
  }
  const valueOf = ofRecord.get(field) ?? ((sim: KnownSim) => fieldTextOf(sim, field));
  for await (const found of inventory.scan(profile, selection.filter, selection)) {
    yield found.map(({ key, sim }) => ({ key, ordinal: sim.ordinal, value: valueOf(sim) }));
  }
}

/** Keeps the first so many of those that are added. */
function firstOf(max: number, compare: (a: Place, b: Place) => number) {
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

/** By value, those without one last; among equal ones in order of discovery. */
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
  const limit = maxSorted.toLocaleString("en-US");
  const message = `More than ${limit} SIMs match, so they cannot be sorted by ${field}: narrow the filter, or sort by ${keyColumn}`;
  return new SimfleetError("USAGE", message);
}

function cursorOf({ value, ordinal }: Place): string {
  return Buffer.from(JSON.stringify([ordinal, value])).toString("base64url");
}

/** @throws SimfleetError USAGE */
function placeOf(cursor: string): Place {
  try {
    const [ordinal, value] = JSON.parse(Buffer.from(cursor, "base64url").toString("utf8")) as unknown[];
    if (typeof ordinal === "number" && (typeof value === "string" || value === null || value === undefined)) {
      return { key: "", ordinal, value: value ?? undefined };
    }
  } catch {
    // Not one of ours.
  }
  throw new SimfleetError(
    "USAGE",
    `${JSON.stringify(cursor)} is not a valid cursor: use the nextCursor of the previous page`,
  );
}

// Fields.

/** Fields that are listed first. */
const usual = ["speedClass", "status", "groupId", "subscription"];

function rankOf(field: string): number {
  return usual.includes(field) ? usual.indexOf(field) : usual.length;
}

/** The key first, then the indexed fields with their values, then the others that some of the first SIMs have. */
export async function fieldsOf({ inventory, profile }: Fleet, keyColumn: KeyColumn): Promise<SimField[]> {
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

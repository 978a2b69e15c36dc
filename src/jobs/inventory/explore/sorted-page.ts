/**
 * A page of SIMs in the order of a field, without reading all records: the index holds the keys, and a code for each value
 * of the fields with a column (store/value-codes.ts). One pass over the index keeps the first SIMs after the cursor. Other
 * fields cannot be sorted by, nor can fields with more values than their column has codes.
 */
import { SimfleetError } from "#core/errors.ts";
import { type FoundSim, type Inventory, fieldTextOf } from "../store/inventory.ts";
import { type IndexedField, absentCode, unknownCode } from "../records/value-codes.ts";
import type { Selection } from "./count.ts";

/** The code of these SIMs is not known, so that their records are read: as many as that takes a second. */
const mostUnknown = 50_000;
const readAtOnce = 1_000;

export interface Order {
  readonly field: string;
  readonly isDescending: boolean;
}

/** Where a SIM is in the order: its value, undefined if it has none, and its ordinal among equal ones. */
interface Place {
  readonly value: string | undefined;
  readonly ordinal: number;
}

interface Candidate extends Place {
  readonly key: string;
}

/** The SIMs of a profile. */
interface Fleet {
  readonly inventory: Inventory;
  readonly profile: string;
}

export interface SortedPage {
  readonly found: readonly FoundSim[];
  readonly nextCursor: string | null;
}

/** @param text `groupId`, or `-groupId` for the reverse order */
export function orderOf(text: string): Order {
  return text.startsWith("-") ? { field: text.slice(1), isDescending: true } : { field: text, isDescending: false };
}

/** @throws SimfleetError USAGE for a field that cannot be sorted by */
export async function sortedPage(
  { inventory, profile }: Fleet,
  selection: Selection,
  page: { readonly order: Order; readonly limit: number; readonly cursor?: string | undefined },
): Promise<SortedPage> {
  const { filter, keyColumn } = selection;
  const { order, limit, cursor } = page;
  const fields = await inventory.indexedFields(profile);
  const column = order.field === keyColumn ? undefined : sortableField(order.field, fields, keyColumn);
  const compare = comparing(order);
  let after = cursor === undefined ? undefined : placeOf(cursor);
  const found: { readonly sim: FoundSim; readonly place: Place }[] = [];
  for (;;) {
    const wanted = limit + 1 - found.length;
    const { first, isAll } = await firstInOrder({ inventory, profile }, selection, { column, after, compare, wanted });
    const read = new Map<string, FoundSim>();
    for (let at = 0; at < first.length; at += readAtOnce) {
      const keys = first.slice(at, at + readAtOnce).map(({ key }) => key);
      for (const sim of await inventory.read(profile, filter, keys, selection)) read.set(sim.key, sim);
    }
    for (const place of first) {
      const sim = read.get(place.key);
      if (sim !== undefined && found.length <= limit) found.push({ sim, place });
    }
    // Some of them did not match after all: continue after the last one.
    if (found.length > limit || isAll) break;
    after = first.at(-1);
  }
  const shown = found.slice(0, limit);
  const last = shown.at(-1);
  return {
    found: shown.map(({ sim }) => sim),
    nextCursor: found.length > limit && last !== undefined ? cursorOf(last.place) : null,
  };
}

/** Beyond what a page needs, since a few percent of the candidates turn out not to match. */
const spare = 100;

async function firstInOrder(
  { inventory, profile }: Fleet,
  selection: Selection,
  query: {
    readonly column: IndexedField | undefined;
    readonly after: Place | undefined;
    readonly compare: (a: Place, b: Place) => number;
    readonly wanted: number;
  },
): Promise<{ first: readonly Candidate[]; isAll: boolean }> {
  const { filter, presence } = selection;
  const { column, after, compare, wanted } = query;
  const kept = new FirstOf(wanted + spare, { after, compare });
  const values = new Map([...(column?.values ?? [])].map(([value, code]) => [code, value]));
  const unknown: string[] = [];
  const index = inventory.index(profile, filter, {
    ...selection,
    column: column?.index,
    withListed: presence === "gone",
  });
  for await (const { first, keys, test, isListed, codeAt } of index) {
    for (const [place, key] of keys.entries()) {
      if (test(place) === "differs" || (presence === "gone" && isListed(place))) continue;
      const code = column === undefined ? absentCode : codeAt(place);
      if (code === unknownCode) unknown.push(key);
      else {
        const value = column === undefined ? key : code === absentCode ? undefined : values.get(code);
        kept.add(key, value, first + place);
      }
    }
    if (unknown.length > mostUnknown) throw tooManyUnknown(column?.field ?? "");
  }
  for (let at = 0; at < unknown.length; at += readAtOnce) {
    for (const { key, sim } of await inventory.read(profile, filter, unknown.slice(at, at + readAtOnce), selection)) {
      kept.add(key, fieldTextOf(sim, column?.field ?? ""), sim.ordinal);
    }
  }
  return kept.end();
}

interface Bounds {
  /** Only what comes after it counts. */
  readonly after: Place | undefined;
  readonly compare: (a: Place, b: Place) => number;
}

/** Keeps the first so many of those that are added, a million in a fraction of a second. */
class FirstOf {
  readonly #most: number;
  readonly #bounds: Bounds;
  #kept: Candidate[] = [];
  /** The last one that may still be among the first. */
  #last: Candidate | undefined;
  /** Compared before anything is created for a SIM. */
  readonly #probe: { value: string | undefined; ordinal: number } = { value: undefined, ordinal: 0 };

  constructor(most: number, bounds: Bounds) {
    this.#most = most;
    this.#bounds = bounds;
  }

  add(key: string, value: string | undefined, ordinal: number): void {
    const { after, compare } = this.#bounds;
    const probe = this.#probe;
    probe.value = value;
    probe.ordinal = ordinal;
    if (this.#last !== undefined && compare(probe, this.#last) > 0) return;
    if (after !== undefined && compare(probe, after) <= 0) return;
    this.#kept.push({ key, value, ordinal });
    if (this.#kept.length >= 8 * this.#most) this.#cut();
  }

  end(): { first: readonly Candidate[]; isAll: boolean } {
    const isAll = this.#last === undefined && this.#kept.length <= this.#most;
    this.#cut();
    return { first: this.#kept, isAll };
  }

  #cut(): void {
    this.#kept = this.#kept.toSorted(this.#bounds.compare).slice(0, this.#most);
    if (this.#kept.length === this.#most) this.#last = this.#kept.at(-1);
  }
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

/** @throws SimfleetError USAGE */
function sortableField(field: string, fields: readonly IndexedField[], keyColumn: string): IndexedField {
  const found = fields.find((one) => one.field === field && !one.isFull);
  if (found !== undefined) return found;
  const names = [keyColumn, ...fields.filter(({ isFull }) => !isFull).map((one) => one.field)];
  throw new SimfleetError("USAGE", `SIMs cannot be sorted by ${field}. Fields to sort by: ${names.join(", ")}`);
}

function tooManyUnknown(field: string): SimfleetError {
  const message = `More than ${mostUnknown.toLocaleString("en-US")} SIMs have changed since the last sync, so they cannot be sorted by ${field} now: sync the fleet, or narrow the filter`;
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
      return { ordinal, value: value ?? undefined };
    }
  } catch {
    // Not one of ours.
  }
  throw new SimfleetError(
    "USAGE",
    `${JSON.stringify(cursor)} is not a valid cursor: use the nextCursor of the previous page`,
  );
}

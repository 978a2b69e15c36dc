/**
 * A page of SIMs in the order of a field. The index holds the keys, and a code for each value of the fields with a column
 * (store/value-codes.ts): one pass over it keeps the first SIMs after the cursor, and no other record is read. For any other
 * field the records are read, as many as a page may take.
 */
import { SimfleetError } from "#core/errors.ts";
import { type FoundSim, type Inventory, fieldTextOf } from "../store/inventory.ts";
import type { KnownSim } from "../records/sim-record.ts";
import { type IndexedField, absentCode, unknownCode } from "../records/value-codes.ts";
import type { Selection } from "./count.ts";

/** SIMs whose value is in their record only: as many as are read in half a second. */
export const maxSorted = 100_000;
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

/** What belongs to the record of a SIM, as text that sorts like it. */
const ofRecord: ReadonlyMap<string, (sim: KnownSim) => string | undefined> = new Map([
  ["addedAt", ({ addedAtMs }) => String(addedAtMs)],
  ["updatedAt", ({ updatedAtMs }) => String(updatedAtMs)],
  ["updatedBy", ({ updatedBy }) => updatedBy],
  ["goneAt", ({ goneAtMs }) => goneAtMs?.toString()],
]);

/** What SIMs can be sorted by besides their fields. */
export const namesOfRecord: readonly string[] = [...ofRecord.keys()];

/** Where the values of the field are: in the keys, in a column of the index, or only in the records. */
type Source = "keys" | "records" | IndexedField;

/** @throws SimfleetError USAGE for a field without a column and more SIMs than can be sorted by it */
export async function sortedPage(
  { inventory, profile }: Fleet,
  selection: Selection,
  page: { readonly order: Order; readonly limit: number; readonly cursor?: string | undefined },
): Promise<SortedPage> {
  const { filter, keyColumn } = selection;
  const { order, limit, cursor } = page;
  const fields = await inventory.indexedFields(profile);
  const column = fields.find(({ field, isFull }) => field === order.field && !isFull);
  const source = order.field === keyColumn ? "keys" : (column ?? "records");
  const compare = comparing(order);
  let after = cursor === undefined ? undefined : placeOf(cursor);
  const found: { readonly sim: FoundSim; readonly place: Place }[] = [];
  for (;;) {
    const wanted = limit + 1 - found.length;
    const { first, isAll } = await firstInOrder({ inventory, profile }, selection, {
      field: order.field,
      source,
      after,
      compare,
      wanted,
    });
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
    readonly field: string;
    readonly source: Source;
    readonly after: Place | undefined;
    readonly compare: (a: Place, b: Place) => number;
    readonly wanted: number;
  },
): Promise<{ first: readonly Candidate[]; isAll: boolean }> {
  const { filter, presence, keyColumn } = selection;
  const { field, source, after, compare, wanted } = query;
  const column = typeof source === "string" ? undefined : source;
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
      if (source === "keys") kept.add(key, key, first + place);
      else {
        const code = source === "records" ? unknownCode : codeAt(place);
        if (code === unknownCode) unknown.push(key);
        else kept.add(key, code === absentCode ? undefined : values.get(code), first + place);
      }
    }
    if (unknown.length > maxSorted) throw await tooMany(field, { source, inventory, profile, keyColumn });
  }
  for (let at = 0; at < unknown.length; at += readAtOnce) {
    for (const { key, sim } of await inventory.read(profile, filter, unknown.slice(at, at + readAtOnce), selection)) {
      kept.add(key, ofRecord.has(field) ? ofRecord.get(field)?.(sim) : fieldTextOf(sim, field), sim.ordinal);
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
  readonly #max: number;
  readonly #bounds: Bounds;
  #kept: Candidate[] = [];
  /** The last one that may still be among the first. */
  #last: Candidate | undefined;
  /** Compared before anything is created for a SIM. */
  readonly #probe: { value: string | undefined; ordinal: number } = { value: undefined, ordinal: 0 };

  constructor(max: number, bounds: Bounds) {
    this.#max = max;
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
    if (this.#kept.length >= 8 * this.#max) this.#cut();
  }

  end(): { first: readonly Candidate[]; isAll: boolean } {
    const isAll = this.#last === undefined && this.#kept.length <= this.#max;
    this.#cut();
    return { first: this.#kept, isAll };
  }

  #cut(): void {
    this.#kept = this.#kept.toSorted(this.#bounds.compare).slice(0, this.#max);
    if (this.#kept.length === this.#max) this.#last = this.#kept.at(-1);
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

async function tooMany(
  field: string,
  { source, inventory, profile, keyColumn }: Fleet & { readonly source: Source; readonly keyColumn: string },
): Promise<SimfleetError> {
  const limit = maxSorted.toLocaleString("en-US");
  if (source !== "records") {
    const message = `More than ${limit} SIMs have changed since the last sync, so they cannot be sorted by ${field} now: sync the fleet, or narrow the filter`;
    return new SimfleetError("USAGE", message);
  }
  const columns = (await inventory.indexedFields(profile)).filter(({ isFull, values }) => !isFull && values.size > 0);
  const names = [keyColumn, ...columns.map((one) => one.field)].join(", ");
  const message = `More than ${limit} SIMs match, so they cannot be sorted by ${field}: narrow the filter, or sort by one of ${names}`;
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

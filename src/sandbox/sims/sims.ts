/**
 * The SIMs of the sandbox, by position in the list of all SIMs that ever existed: a removed SIM keeps its position, so
 * that a cursor always refers to the same one. IDs and records are computed from the seed and the position; only given
 * IDs and what calls change are stored, so that a million SIMs cost little. A test compares the effects that are
 * counted here with a client's own account, so one is counted where it happens, whether or not the response arrives.
 */
import type { Wording } from "#fleet/sim/sim.ts";
import type { SandboxOptions } from "../options.ts";
import { seededBits, seededShare } from "../seeded.ts";
import {
  deviceImeiAt,
  type Edits,
  factsOf,
  recordText,
  dayMs,
  type SimFacts,
  type SimRecord,
  type SimSource,
  subscriberText,
  withLuhnDigit,
} from "./sim-records.ts";

const simIdPrefix = "8942310";
const imsiPrefix = "29505";
const speedClasses = ["s1.minimum", "s1.slow", "s1.standard", "s1.fast", "s1.4xfast", "s1.8xfast"];

export class Sims {
  readonly #options: SandboxOptions;
  readonly #firstSerial: number;
  readonly #firstImsi: number;
  /** By position, those that are not computed. */
  readonly #givenIds: string[];
  readonly #placeByGiven: Map<string, number>;
  /** The values that were set, by position; a hole is the seed's. */
  readonly #classes: string[] = [];
  readonly #accepted: number[] = [];
  readonly #modifiedMs: number[] = [];
  readonly #edits = new Map<number, Edits>();
  /** Edits that take effect later, at an instant of the wall clock. */
  readonly #dueEdits = new Map<number, { readonly atMs: number; readonly set: Edits }>();
  /** Positions that are not listed. */
  readonly removed = new Set<number>();
  /** By position, then by operation; changes of the speed class are in a column of their own. */
  readonly #effects = new Map<number, Record<string, number>>();
  /** Effects on all SIMs together. */
  readonly effectTotals: Record<string, number> = {};
  /** By position, once something has changed. */
  readonly #statuses = new Map<number, readonly StatusEntry[]>();
  /** Number of SIMs that ever existed: the length of the list including removed ones. */
  places: number;

  constructor(options: SandboxOptions) {
    this.#options = options;
    this.#firstSerial = Math.floor(seededShare(options.seed, -2) * 9e10);
    this.#firstImsi = Math.floor(seededShare(options.seed, -3) * 9e9);
    this.#givenIds = [...(options.simIds ?? [])];
    this.#placeByGiven = new Map(this.#givenIds.map((id, place) => [id, place]));
    this.places = options.simIds?.length ?? options.sims;
    // Of full length at once: an array that is filled in any order would become a dictionary.
    for (const column of [this.#classes, this.#accepted, this.#modifiedMs]) column.length = this.places;
  }

  /** SIMs that are listed. */
  get count(): number {
    return this.places - this.removed.size;
  }

  simIdAt(place: number): string {
    return this.#givenIds[place] ?? this.#madeUpIdAt(place);
  }

  imsiAt(place: number): string {
    return imsiPrefix + String(this.#firstImsi + place).padStart(10, "0");
  }

  /** The position of the SIM, removed or not, or undefined if it never existed. */
  placeOfSimId(simId: string): number | undefined {
    return this.#within(this.placeByRule(simId));
  }

  /** The position that this id has, or would have once enough SIMs are generated. */
  placeByRule(simId: string): number | undefined {
    const given = this.#placeByGiven.get(simId);
    if (given !== undefined) return given;
    const place = Number(simId.slice(simIdPrefix.length, -1)) - this.#firstSerial;
    return isPlace(place) && this.simIdAt(place) === simId ? place : undefined;
  }

  /** Place of a SIM by its IMSI. */
  placeOfImsi(imsi: string): number | undefined {
    const place = Number(imsi.slice(imsiPrefix.length)) - this.#firstImsi;
    return this.#within(isPlace(place) && this.imsiAt(place) === imsi ? place : undefined);
  }

  isListedAt(place: number): boolean {
    return place < this.places && !this.removed.has(place);
  }

  /** The position after the next `items` listed SIMs from a position; the end of the list if none is left. */
  placeAfter(from: number, items: number): number {
    if (this.removed.size === 0) return Math.min(from + items, this.places);
    let left = items;
    let place = from;
    for (; place < this.places; place += 1) {
      if (this.removed.has(place)) continue;
      if (left === 0) break;
      left -= 1;
    }
    return place;
  }

  speedClassAt(place: number): string {
    return this.#classes[place] ?? this.#firstClassAt(place);
  }

  /** Class changes made by calls. */
  acceptedAt(place: number): number {
    return this.#accepted[place] ?? 0;
  }

  /** @returns false if no SIM can have this class */
  setSpeedClass(place: number, speedClass: string): boolean {
    if (!speedClasses.includes(speedClass)) return false;
    this.#classes[place] = speedClass;
    this.#accepted[place] = this.acceptedAt(place) + 1;
    this.#countInTotal("updateSimSpeedClass");
    this.#modifiedMs[place] = this.#options.clock.wallMs();
    // Only then is there an operation that lists it.
    if (this.#options.operations === "all") this.#noteStatus(place);
    return true;
  }

  /** Counts an effect of an operation other than changes of the speed class. */
  countEffect(place: number, operation: string): void {
    const counts = this.#effects.get(place) ?? {};
    counts[operation] = (counts[operation] ?? 0) + 1;
    this.#effects.set(place, counts);
    this.#countInTotal(operation);
  }

  effectsAt(place: number): Effects {
    const changes = this.acceptedAt(place);
    return { ...(changes > 0 && { updateSimSpeedClass: changes }), ...this.#effects.get(place) };
  }

  /** The statuses, classes and groups that the SIM had, oldest first. */
  statusesAt(place: number): readonly StatusEntry[] {
    const known = this.#statuses.get(place);
    if (known !== undefined) return known;
    const speedClass = this.#firstClassAt(place);
    return firstStatuses(factsOf({ ...this.#sourceAt(place), speedClass, modifiedMs: undefined, edits: undefined }));
  }

  /** The record as responses show it. */
  recordAt(place: number): SimRecord {
    return JSON.parse(this.textAt(place)) as SimRecord;
  }

  /** The record as JSON; of `subscribers`, in the older variant. */
  textAt(place: number, wording: Wording = "sims"): string {
    const source = this.#sourceAt(place);
    return wording === "sims" ? recordText(this.#options.records, source) : subscriberText(source);
  }

  /** Facts about the SIM that operations read, in any shape of records. */
  factsAt(place: number): SimFacts {
    return factsOf(this.#sourceAt(place));
  }

  isTerminatedAt(place: number): boolean {
    return this.#edits.get(place)?.["status"] === "terminated";
  }

  /** The IMEI of the device that holds the SIM. */
  deviceImeiAt(place: number): string {
    return deviceImeiAt(this.#options.seed, place);
  }

  /** Appends generated SIMs. @throws RangeError if one of their ids was given to another SIM */
  append(count: number): void {
    const places = this.places + count;
    for (let place = this.places; this.#placeByGiven.size > 0 && place < places; place += 1) {
      const id = this.#madeUpIdAt(place);
      if (this.#placeByGiven.has(id))
        throw new RangeError(`the next SIMs of the seed include ${id}, which is there already`);
    }
    this.places = places;
  }

  /** Appends a SIM with this id, which no SIM has. */
  appendGiven(simId: string): void {
    this.#givenIds[this.places] = simId;
    this.#placeByGiven.set(simId, this.places);
    this.places += 1;
  }

  /** Sets fields of the record from outside: not an accepted change, and any class is allowed. */
  edit(place: number, set: Edits): void {
    const { speedClass, lastModifiedTime, ...others } = set;
    if (typeof speedClass === "string") this.#classes[place] = speedClass;
    this.#modifiedMs[place] = Number(lastModifiedTime ?? this.#options.clock.wallMs());
    if (Object.keys(others).length > 0) this.#edits.set(place, { ...this.#edits.get(place), ...others });
    this.#noteStatus(place);
  }

  /** Sets fields of the record after a delay; a second call for the same SIM replaces one that is pending. */
  editLater(place: number, set: Edits, delayMs: number): void {
    this.#dueEdits.set(place, { atMs: this.#options.clock.wallMs() + delayMs, set });
  }

  #countInTotal(operation: string): void {
    this.effectTotals[operation] = (this.effectTotals[operation] ?? 0) + 1;
  }

  #noteStatus(place: number): void {
    const known = this.statusesAt(place);
    const facts = this.factsAt(place);
    const present = toEntry(facts, facts.lastModifiedTime);
    if (!isSame(known.at(-1), present)) this.#statuses.set(place, [...known, present]);
  }

  #sourceAt(place: number): SimSource {
    const { seed, operatorId } = this.#options;
    this.#applyDueEdit(place);
    return {
      seed,
      place,
      operatorId,
      simId: this.simIdAt(place),
      imsi: this.imsiAt(place),
      speedClass: this.speedClassAt(place),
      modifiedMs: this.#modifiedMs[place],
      edits: this.#edits.get(place),
    };
  }

  #applyDueEdit(place: number): void {
    const due = this.#dueEdits.size === 0 ? undefined : this.#dueEdits.get(place);
    if (due === undefined || due.atMs > this.#options.clock.wallMs()) return;
    this.#dueEdits.delete(place);
    this.edit(place, { ...due.set, lastModifiedTime: due.atMs });
  }

  #firstClassAt(place: number): string {
    return speedClasses[(seededBits(this.#options.seed, place) >>> 12) % speedClasses.length] ?? "";
  }

  #madeUpIdAt(place: number): string {
    return withLuhnDigit(simIdPrefix + String(this.#firstSerial + place).padStart(11, "0"));
  }

  #within(place: number | undefined): number | undefined {
    return place !== undefined && place < this.places ? place : undefined;
  }
}

function isPlace(number: number): boolean {
  return Number.isSafeInteger(number) && number >= 0;
}

/** Calls that took effect, by operation. */
export type Effects = Readonly<Record<string, number>>;

type StatusEntry = Readonly<ReturnType<typeof toEntry>>;

/** Every SIM started as ready. */
function firstStatuses(facts: SimFacts): readonly StatusEntry[] {
  const { createdTime, status } = facts;
  const first = toEntry({ ...facts, status: "ready" }, createdTime);
  return status === "ready" ? [first] : [first, toEntry(facts, createdTime + dayMs / 2)];
}

/** A SIM's status, speed class and group from a time on, in epoch milliseconds. */
function toEntry({ status, speedClass, groupId }: SimFacts, time: number) {
  return { time, status, speedClass, ...(groupId !== undefined && { groupId }) };
}

function isSame(one: StatusEntry | undefined, other: StatusEntry): boolean {
  return one?.status === other.status && one.speedClass === other.speedClass && one.groupId === other.groupId;
}

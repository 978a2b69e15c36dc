/**
 * The SIMs of the sandbox, by position in the list of all SIMs that ever existed: a removed SIM keeps its position, so
 * that a cursor always refers to the same one. A record is generated on request from the seed and the position; only
 * what calls change is stored per SIM, and edits in a sparse map, so that a million SIMs cost little.
 */
import type { SandboxOptions } from "../options.ts";
import { seededBits } from "../seeded.ts";
import { SimColumns } from "./sim-columns.ts";
import { SimIds } from "./sim-ids.ts";
import { deviceImeiAt } from "./public-members.ts";
import {
  type Edits,
  factsOf,
  type KeptFacts,
  recordText,
  type SimFacts,
  type SimRecord,
  subscriberText,
} from "./sim-records.ts";

export class Sims {
  readonly #options: SandboxOptions;
  readonly #ids: SimIds;
  readonly #columns: SimColumns;
  readonly #edits = new Map<number, Edits>();
  /** Edits that take effect later, at an instant of the wall clock. */
  readonly #dueEdits = new Map<number, { readonly atMs: number; readonly set: Edits }>();
  /** Classes set from outside that are not among those of the options. */
  readonly #foreignClasses = new Map<number, string>();
  #places = 0;
  #removed = 0;
  #acceptedTotal = 0;

  constructor(options: SandboxOptions) {
    this.#options = options;
    this.#ids = new SimIds(options.seed, options.simIds);
    this.#columns = new SimColumns(this.#firstPlaces);
    this.#grow(this.#firstPlaces);
  }

  /** SIMs that are listed. */
  get count(): number {
    return this.#places - this.#removed;
  }

  /** Number of SIMs that ever existed: the length of the list including removed ones. */
  get places(): number {
    return this.#places;
  }

  simIdAt(place: number): string {
    return this.#ids.simIdAt(place);
  }

  imsiAt(place: number): string {
    return this.#ids.imsiAt(place);
  }

  /** The position of the SIM, removed or not, or undefined if it never existed. */
  placeOfSimId(simId: string): number | undefined {
    return this.#within(this.#ids.placeOfSimId(simId));
  }

  /** The position that this id has, or would have once enough SIMs are generated. */
  placeByRule(simId: string): number | undefined {
    return this.#ids.placeOfSimId(simId);
  }

  /** As `placeOfSimId`. */
  placeOfImsi(imsi: string): number | undefined {
    return this.#within(this.#ids.placeOfImsi(imsi));
  }

  isListedAt(place: number): boolean {
    return place < this.#places && this.#columns.removed[place] === 0;
  }

  /** The position after the next `items` listed SIMs from a position; the end of the list if none is left. */
  placeAfter(from: number, items: number): number {
    if (this.#removed === 0) return Math.min(from + items, this.#places);
    const { removed } = this.#columns;
    let left = items;
    let place = from;
    for (; place < this.#places; place += 1) {
      if (removed[place] !== 0) continue;
      if (left === 0) break;
      left -= 1;
    }
    return place;
  }

  speedClassAt(place: number): string {
    return this.#foreignClasses.get(place) ?? this.#options.speedClasses[this.#columns.classes[place] ?? 0] ?? "";
  }

  acceptedAt(place: number): number {
    return this.#columns.accepted[place] ?? 0;
  }

  /** Class changes applied to all SIMs together. */
  get acceptedTotal(): number {
    return this.#acceptedTotal;
  }

  /** @returns false if no SIM can have this class */
  setSpeedClass(place: number, speedClass: string): boolean {
    if (!this.#options.speedClasses.includes(speedClass)) return false;
    this.#putClass(place, speedClass);
    this.#columns.accepted[place] = this.acceptedAt(place) + 1;
    this.#acceptedTotal += 1;
    this.#columns.modifiedMs[place] = this.#options.clock.wallMs();
    return true;
  }

  /** The record as responses show it. */
  recordAt(place: number): SimRecord {
    return JSON.parse(this.textAt(place)) as SimRecord;
  }

  /** The record as JSON. */
  textAt(place: number): string {
    const { records, seed } = this.#options;
    const edits = this.#editsAt(place);
    return recordText(records, { seed, place }, this.#keptAt(place), edits);
  }

  /** What operations read of the SIM, in any shape of records. */
  factsAt(place: number): SimFacts {
    const edits = this.#editsAt(place);
    return factsOf({ seed: this.#options.seed, place }, this.#keptAt(place), edits);
  }

  /** As `factsAt`, as the seed made the SIM. */
  firstFactsAt(place: number): SimFacts {
    const { seed, speedClasses } = this.#options;
    const kept = { ...this.#keptAt(place), speedClass: speedClasses[this.#firstClassAt(place)] ?? "", modifiedMs: 0 };
    return factsOf({ seed, place }, kept, undefined);
  }

  isTerminatedAt(place: number): boolean {
    return this.#edits.get(place)?.["status"] === "terminated";
  }

  /** The IMEI of the device that holds the SIM. */
  deviceImeiAt(place: number): string {
    return deviceImeiAt(this.#options.seed, place);
  }

  /** The record of the older variant as JSON. */
  subscriberTextAt(place: number): string {
    const edits = this.#editsAt(place);
    return subscriberText({ seed: this.#options.seed, place }, this.#keptAt(place), edits);
  }

  /** Appends generated SIMs. @throws RangeError if one of their ids was given to another SIM */
  append(count: number): void {
    const places = this.#places + count;
    const clash = this.#ids.clashWithin(this.#places, places);
    if (clash !== undefined) throw new RangeError(`the next SIMs of the seed include ${clash}, which is there already`);
    this.#grow(places);
  }

  /** Appends a SIM with this id, which no SIM has. */
  appendGiven(simId: string): void {
    this.#ids.give(this.#places, simId);
    this.#grow(this.#places + 1);
  }

  remove(place: number): void {
    if (this.isListedAt(place)) this.#removed += 1;
    this.#columns.removed[place] = 1;
  }

  /** Lists a removed SIM again, at its old position. */
  restore(place: number): void {
    if (!this.isListedAt(place)) this.#removed -= 1;
    this.#columns.removed[place] = 0;
  }

  /** Sets fields of the record from outside: not an accepted change, and any class is allowed. */
  edit(place: number, set: Edits): void {
    const { speedClass, lastModifiedTime, ...others } = set;
    if (typeof speedClass === "string") this.#putClass(place, speedClass);
    this.#columns.modifiedMs[place] = Number(lastModifiedTime ?? this.#options.clock.wallMs());
    if (Object.keys(others).length > 0) this.#edits.set(place, { ...this.#edits.get(place), ...others });
  }

  /** Sets fields of the record after a delay; a second call for the same SIM replaces one that is pending. */
  editLater(place: number, set: Edits, delayMs: number): void {
    this.#dueEdits.set(place, { atMs: this.#options.clock.wallMs() + delayMs, set });
  }

  /** Restores the initial state: the SIMs of the options, the generated classes, no accepted changes. */
  reset(): void {
    this.#ids.reset();
    this.#columns.clear();
    this.#edits.clear();
    this.#dueEdits.clear();
    this.#foreignClasses.clear();
    this.#removed = 0;
    this.#acceptedTotal = 0;
    this.#places = 0;
    this.#grow(this.#firstPlaces);
  }

  get #firstPlaces(): number {
    return this.#options.simIds?.length ?? this.#options.sims;
  }

  #editsAt(place: number): Edits | undefined {
    const due = this.#dueEdits.size === 0 ? undefined : this.#dueEdits.get(place);
    if (due !== undefined && due.atMs <= this.#options.clock.wallMs()) {
      this.#dueEdits.delete(place);
      this.edit(place, { ...due.set, lastModifiedTime: due.atMs });
    }
    return this.#edits.get(place);
  }

  #keptAt(place: number): KeptFacts {
    return {
      simId: this.simIdAt(place),
      imsi: this.imsiAt(place),
      operatorId: this.#options.operatorId,
      speedClass: this.speedClassAt(place),
      modifiedMs: this.#columns.modifiedMs[place] ?? 0,
    };
  }

  #grow(places: number): void {
    this.#columns.reserve(places);
    for (let place = this.#places; place < places; place += 1) {
      this.#columns.classes[place] = this.#firstClassAt(place);
    }
    this.#places = places;
  }

  #firstClassAt(place: number): number {
    return (seededBits(this.#options.seed, place) >>> 12) % this.#options.speedClasses.length;
  }

  #putClass(place: number, speedClass: string): void {
    const code = this.#options.speedClasses.indexOf(speedClass);
    if (code < 0) {
      this.#foreignClasses.set(place, speedClass);
    } else {
      this.#columns.classes[place] = code;
      this.#foreignClasses.delete(place);
    }
  }

  #within(place: number | undefined): number | undefined {
    return place !== undefined && place < this.#places ? place : undefined;
  }
}

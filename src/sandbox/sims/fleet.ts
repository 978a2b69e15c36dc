/**
 * Changes the fleet from outside, as people do in a console while automations run: adds, removes, restores and edits
 * SIMs. A change is validated as a whole before any of it is applied. It counts as neither a call nor an accepted
 * change.
 */
import { isSimId } from "#fleet/sim/sim.ts";
import { isSpeedClass } from "#fleet/sim/speed-class.ts";
import type { SandboxState } from "../state.ts";

export interface SimEdit {
  /** SIM id or IMSI. */
  readonly id: string;
  /** Fields of the record and their new values; an object replaces the previous one completely. */
  readonly set: Readonly<Record<string, unknown>>;
}

/** The parts are applied in this order. Ids are SIM ids or IMSIs, except those of added SIMs. */
export interface FleetChange {
  /** Number of generated SIMs to append. */
  readonly add?: number | undefined;
  /** SIM ids to append. */
  readonly addIds?: readonly string[] | undefined;
  readonly restore?: readonly string[] | undefined;
  readonly remove?: readonly string[] | undefined;
  readonly edit?: readonly SimEdit[] | undefined;
}

/** Fields that identify a SIM and its owner. */
const fixedFields = ["simId", "iccid", "imsi", "operatorId", "profiles"];
const mostPlaces = 1e8;

export class Fleet {
  readonly #state: SandboxState;

  constructor(state: SandboxState) {
    this.#state = state;
  }

  /** Appends generated SIMs to the list. @returns their SIM ids */
  add(count: number): string[] {
    return this.change({ add: count });
  }

  /** Appends SIMs with these SIM ids to the list. */
  addIds(simIds: readonly string[]): void {
    this.change({ addIds: simIds });
  }

  /** Removes SIMs from the list; calls on them respond that there is no such SIM. */
  remove(ids: readonly string[]): void {
    this.change({ remove: ids });
  }

  /** Restores removed SIMs at their previous positions, unchanged. */
  restore(ids: readonly string[]): void {
    this.change({ restore: ids });
  }

  edit(id: string, set: Readonly<Record<string, unknown>>): void {
    this.change({ edit: [{ id, set }] });
  }

  /**
   * Applies all parts of a change, or none. @returns the SIM ids that were added @throws RangeError with all problems
   */
  change(change: FleetChange): string[] {
    const problems = [...this.#problemsOfAdding(change), ...this.#unknownIds(change), ...problemsOfEdits(change)];
    if (problems.length > 0) throw new RangeError(problems.join("; "));
    const { sims } = this.#state;
    const from = sims.places;
    sims.append(change.add ?? 0);
    for (const simId of change.addIds ?? []) sims.appendGiven(simId);
    for (const id of change.restore ?? []) sims.restore(this.#placeOf(id));
    for (const id of change.remove ?? []) sims.remove(this.#placeOf(id));
    for (const { id, set } of change.edit ?? []) sims.edit(this.#placeOf(id), set);
    return Array.from({ length: sims.places - from }, (_, i) => sims.simIdAt(from + i));
  }

  #problemsOfAdding({ add = 0, addIds = [] }: FleetChange): string[] {
    const { sims } = this.#state;
    const problems: string[] = [];
    const isCount = Number.isSafeInteger(add) && add >= 0;
    if (!isCount) problems.push("`add` must be a whole number, 0 or more");
    if (sims.places + add + addIds.length > mostPlaces) problems.push(`there can be ${mostPlaces} SIMs at most`);
    if (new Set(addIds).size < addIds.length) problems.push("`addIds` must not name a SIM twice");
    for (const simId of addIds) {
      const place = sims.placeByRule(simId);
      const known = place !== undefined && place < sims.places;
      if (!isSimId(simId)) problems.push(`${simId} is no SIM id: letters, digits, \`-\` and \`_\`, 64 at most`);
      else if (known && sims.isListedAt(place)) problems.push(`${simId} is listed already`);
      else if (known) problems.push(`${simId} was removed; restore it`);
      else if (place !== undefined && place < sims.places + add) problems.push(`${simId} is among those of \`add\``);
    }
    return problems;
  }

  #unknownIds({ addIds = [], restore = [], remove = [], edit = [] }: FleetChange): string[] {
    const added = new Set(addIds);
    const named = [...restore, ...remove, ...edit.map(({ id }) => id)];
    return named
      .filter((id) => !added.has(id) && this.#state.placeOf(id) === undefined)
      .map((id) => `there is no SIM ${id}`);
  }

  #placeOf(id: string): number {
    const place = this.#state.placeOf(id);
    if (place === undefined) throw new RangeError(`there is no SIM ${id}`);
    return place;
  }
}

function problemsOfEdits({ edit = [] }: FleetChange): string[] {
  return edit.flatMap(({ id, set: { speedClass, lastModifiedTime, ...others } }) => {
    const problems = fixedFields
      .filter((field) => Object.hasOwn(others, field))
      .map((field) => `${field} of ${id} cannot be edited`);
    const isClass = speedClass === undefined || (typeof speedClass === "string" && isSpeedClass(speedClass));
    if (!isClass) problems.push(`speedClass of ${id} must be a name such as s1.fast`);
    const isTime = lastModifiedTime === undefined || isAboveZero(lastModifiedTime);
    if (!isTime) problems.push(`lastModifiedTime of ${id} must be epoch milliseconds`);
    return problems;
  });
}

function isAboveZero(value: unknown): boolean {
  return typeof value === "number" && value > 0 && value < Infinity;
}

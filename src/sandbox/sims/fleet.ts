/**
 * Changes the fleet from outside, as people do in a console while automations run: adds, removes, restores and edits
 * SIMs. A change is validated as a whole before any of it is applied. It counts as neither a call nor an accepted
 * change.
 */
import { z } from "zod";
import { isSimId, isSpeedClass } from "#fleet/sim/sim.ts";
import type { SandboxState } from "../state.ts";

const ids = z.array(z.string().min(1).max(100)).min(1).readonly().optional();

/** New values of fields; an object replaces the previous one completely. */
const set = z
  .record(z.string(), z.unknown())
  .refine((fields) => Object.keys(fields).length > 0, "`set` must name at least one field");

/** The parts are applied in this order. IDs are SIM IDs or IMSIs, except those of added SIMs. */
export const fleetChange = z
  .strictObject({
    /** Number of generated SIMs to append. */
    add: z.int().min(1).max(1e8).optional(),
    /** SIM IDs to append. */
    addIds: ids,
    restore: ids,
    remove: ids,
    edit: z
      .array(z.strictObject({ id: z.string().min(1).max(100), set }))
      .min(1)
      .readonly()
      .optional(),
  })
  .refine(
    (change) => Object.values(change).some((part) => part !== undefined),
    "send `add`, `addIds`, `remove`, `restore`, `edit` or several of them",
  );

type FleetChange = Readonly<z.output<typeof fleetChange>>;

/** Fields that identify a SIM and its owner. */
const fixedFields = ["simId", "iccid", "imsi", "operatorId", "profiles"];
const maxPlaces = 1e8;

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
  remove(simIds: readonly string[]): void {
    this.change({ remove: simIds });
  }

  /** Restores removed SIMs at their previous positions, unchanged. */
  restore(simIds: readonly string[]): void {
    this.change({ restore: simIds });
  }

  edit(id: string, fields: Readonly<Record<string, unknown>>): void {
    this.change({ edit: [{ id, set: fields }] });
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
    for (const edit of change.edit ?? []) sims.edit(this.#placeOf(edit.id), edit.set);
    return Array.from({ length: sims.places - from }, (_, i) => sims.simIdAt(from + i));
  }

  #problemsOfAdding({ add = 0, addIds = [] }: FleetChange): string[] {
    const { sims } = this.#state;
    const problems: string[] = [];
    const isCount = Number.isSafeInteger(add) && add >= 0;
    if (!isCount) problems.push("`add` must be a whole number, 0 or more");
    if (sims.places + add + addIds.length > maxPlaces) problems.push(`there can be ${maxPlaces} SIMs at most`);
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
    const isTime =
      lastModifiedTime === undefined || (Number.isFinite(lastModifiedTime) && Number(lastModifiedTime) > 0);
    if (!isTime) problems.push(`lastModifiedTime of ${id} must be epoch milliseconds`);
    return problems;
  });
}

/**
 * Changes the fleet from outside, as people do in a console while automations run: adds, removes, restores and edits
 * SIMs. A change is validated as a whole before any of it is applied. It counts as neither a call nor an accepted
 * change.
 */
import { z } from "zod";
import { isSimId, isSpeedClass } from "#fleet/sim/sim.ts";
import type { SandboxState } from "../state.ts";
import type { Edits } from "./sim-records.ts";
import type { Sims } from "./sims.ts";

const id = z.string().min(1).max(100);
const ids = z.array(id).min(1).readonly().optional();
const newId = z.string().refine(isSimId, "must be an ID of letters, digits, `-` and `_`, 64 at most");
const fixed = z.never("cannot be edited").optional();

/** New values of fields; an object replaces the previous one completely. What identifies a SIM and its owner stays. */
const set = z
  .looseObject({
    speedClass: z.string("must be a name").refine(isSpeedClass, "must be a name such as s1.fast").optional(),
    lastModifiedTime: z.number("must be epoch milliseconds").positive("must be epoch milliseconds").optional(),
    simId: fixed,
    iccid: fixed,
    imsi: fixed,
    operatorId: fixed,
    profiles: fixed,
  })
  .refine((fields) => Object.keys(fields).length > 0, "`set` must name at least one field");

/** The parts are applied in this order. IDs are SIM IDs or IMSIs, except those of added SIMs. */
const fleetChange = z
  .strictObject({
    /** Number of generated SIMs to append. */
    add: z.int().min(1).max(1e8).optional(),
    /** SIM IDs to append. */
    addIds: z
      .array(newId)
      .min(1)
      .refine((all) => new Set(all).size === all.length, "must not name a SIM twice")
      .readonly()
      .optional(),
    restore: ids,
    remove: ids,
    edit: z.array(z.strictObject({ id, set })).min(1).readonly().optional(),
  })
  .refine(
    (change) => Object.values(change).some((part) => part !== undefined),
    "send `add`, `addIds`, `remove`, `restore`, `edit` or several of them",
  );

export function openFleet(state: SandboxState) {
  /**
   * Applies all parts of a change, or none; a removed SIM is restored at its previous position, unchanged.
   * @param wanted in the form of `fleetChange` @returns the SIM ids that were added
   * @throws ZodError; RangeError with all problems
   */
  const change = (wanted: unknown): string[] => {
    const { add = 0, addIds = [], restore = [], remove = [], edit = [] } = fleetChange.parse(wanted);
    const { sims } = state;
    const from = sims.places;
    const added = new Set(addIds);
    const named = [...restore, ...remove, ...edit.map((one) => one.id)];
    const unknown = named.filter((one) => !added.has(one) && state.placeOf(one) === undefined);
    const problems = [...problemsOfAdding(sims, add, addIds), ...unknown.map((one) => `there is no SIM ${one}`)];
    if (problems.length > 0) throw new RangeError(problems.join("; "));
    sims.append(add);
    for (const simId of addIds) sims.appendGiven(simId);
    const placeOf = (simId: string): number => state.placeOf(simId) ?? Number.NaN; // all are known by now
    for (const one of restore) sims.removed.delete(placeOf(one));
    for (const one of remove) sims.removed.add(placeOf(one));
    for (const one of edit) sims.edit(placeOf(one.id), one.set);
    return Array.from({ length: sims.places - from }, (_, i) => sims.simIdAt(from + i));
  };
  return {
    change,
    /** Appends generated SIMs to the list. @returns their SIM ids */
    add: (count: number): string[] => change({ add: count }),
    /** Removes SIMs from the list; calls on them respond that there is no such SIM. */
    remove: (simIds: readonly string[]): void => void change({ remove: simIds }),
    edit: (simId: string, fields: Edits): void => void change({ edit: [{ id: simId, set: fields }] }),
  };
}

function problemsOfAdding(sims: Sims, add: number, addIds: readonly string[]): string[] {
  return addIds.flatMap((simId) => {
    const place = sims.placeByRule(simId);
    if (place === undefined || place >= sims.places + add) return [];
    if (place >= sims.places) return [`${simId} is among those of \`add\``];
    return sims.isListedAt(place) ? [`${simId} is listed already`] : [`${simId} was removed; restore it`];
  });
}

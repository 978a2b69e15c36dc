/**
 * Counts the SIMs that a filter selects. The index decides for nearly all of them; the records of the others are read. A
 * count has a time limit, since people wait for it while they type: it is a lower bound then.
 */
import type { Clock } from "#core/time.ts";
import type { Filter } from "#fleet/filter.ts";
import type { KeyColumn } from "#fleet/sim/sim.ts";
import type { Inventory, SimPresence } from "../store/inventory.ts";

const readAtOnce = 1_000;

export interface Selection {
  readonly filter: Filter;
  readonly presence: SimPresence;
  readonly keyColumn: KeyColumn;
  readonly search?: string | undefined;
}

export interface Counted {
  readonly count: number;
  /** False: the time ran out, and there may be more. */
  readonly isExact: boolean;
}

export async function countSims(
  inventory: Inventory,
  profile: string,
  selection: Selection,
  { clock, limitMs }: { clock: Clock; limitMs: number },
): Promise<Counted> {
  const { filter, presence } = selection;
  const facts = await inventory.facts(profile);
  if (filter.conditions.length === 0 && selection.search === undefined) {
    return { count: presence === "gone" ? facts.gone : facts.known, isExact: true };
  }
  const endMs = clock.monotonicMs() + limitMs;
  let count = 0;
  let unsure: string[] = [];
  const readUnsure = async (): Promise<void> => {
    count += (await inventory.read(profile, filter, unsure, selection)).length;
    unsure = [];
  };
  for await (const { keys, test, isListed } of inventory.index(profile, filter, {
    ...selection,
    withListed: true,
  })) {
    for (const [place, key] of keys.entries()) {
      const result = test(place);
      if (result === "differs") continue;
      if (!isListed(place)) unsure.push(key);
      else if (presence !== "gone") {
        if (result === "matches") count += 1;
        else unsure.push(key);
      }
      if (unsure.length === readAtOnce) await readUnsure();
      if (unsure.length === 0 && clock.monotonicMs() > endMs) return { count, isExact: false };
    }
  }
  await readUnsure();
  return { count, isExact: true };
}

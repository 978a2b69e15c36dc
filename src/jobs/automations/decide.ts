/**
 * What an automation makes of events: which of them it is about, and whether there is something to do. It only looks; what
 * it finds is acted on by `act.ts`, or shown to a person who asks what would have been done.
 */
import type { Event } from "#events/event.ts";
import type { Automation } from "#fleet/automation.ts";
import { matches } from "#fleet/filter.ts";
import { textOf } from "#fleet/sim-fields.ts";
import { type Inventory, speedClassOf } from "#jobs/inventory/store/inventory.ts";
import type { KnownSim } from "#jobs/inventory/store/sim-record.ts";
import type { AutomationLog } from "./record.ts";

export type Decision =
  /** The task is to be done. */
  | "act"
  /** The condition does not hold. */
  | "condition"
  /** The SIM has the speed class already. */
  | "unchanged"
  /** The SIM is no longer listed, or not in the inventory. */
  | "gone"
  /** What it did itself led to the event. */
  | "loop";

export interface Decided {
  readonly event: Event;
  readonly decision: Decision;
  /** Automations that led to the event, the first first. */
  readonly chain: readonly string[];
}

export interface DecisionDeps {
  readonly inventory: Inventory;
  readonly log: AutomationLog;
  /** Name of the column that names a SIM. */
  readonly keyColumnOf: (profile: string) => string;
}

/** Events that the automation is about at all, in their order. */
export async function decide(
  automation: Automation,
  events: readonly Event[],
  deps: DecisionDeps,
): Promise<readonly Decided[]> {
  const meant = events.filter(({ type, profile }) => automation.on.includes(type) && profile === automation.profile);
  if (meant.length === 0) return [];
  const [known, chains] = await Promise.all([knownSims(automation, meant, deps), chainsOf(meant, deps)]);
  return meant.map((event): Decided => {
    const chain = chains.get(causeOf(event) ?? "") ?? [];
    const { sim } = event.fields;
    return { event, chain, decision: decideOn(automation, { event, chain, known: known.get(sim ?? "") }, deps) };
  });
}

function decideOn(
  { name, profile, condition, action }: Automation,
  { event, chain, known }: { event: Event; chain: readonly string[]; known: KnownSim | undefined },
  { keyColumnOf }: DecisionDeps,
): Decision {
  const { sim, ...fields } = event.fields;
  const isAboutSim = event.type.startsWith("sim.");
  const valueOf = (field: string): string | undefined => {
    if (field.startsWith("event.")) return event.fields[field.slice("event.".length)];
    if (!isAboutSim) return fields[field];
    if (field === keyColumnOf(profile)) return sim;
    const value = known?.fields.get(field);
    return value === undefined ? undefined : textOf(value);
  };
  if (!matches(condition, valueOf)) return "condition";
  if (action.job === "apply") {
    if (known === undefined || known.goneAtMs !== undefined) return "gone";
    if (speedClassOf(known) === action.speedClass) return "unchanged";
  }
  return chain.includes(name) ? "loop" : "act";
}

async function knownSims(
  { profile }: Automation,
  events: readonly Event[],
  { inventory }: DecisionDeps,
): Promise<ReadonlyMap<string, KnownSim | undefined>> {
  const keys = [...new Set(events.flatMap(({ fields }) => fields.sim ?? []))];
  const found = await inventory.lookUp(profile, keys);
  return new Map(keys.map((key, i) => [key, found[i]]));
}

function chainsOf(events: readonly Event[], { log }: DecisionDeps): ReturnType<AutomationLog["chains"]> {
  return log.chains([...new Set(events.flatMap((event) => causeOf(event) ?? []))]);
}

/** The run, sync or rotation that an event comes from. */
function causeOf({ fields }: Event): string | undefined {
  return fields.cause ?? fields.run;
}

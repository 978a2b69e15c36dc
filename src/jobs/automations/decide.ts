/**
 * Decides what an automation does with events: which of them match, and whether there is something to do. It has no side
 * effects; `work.ts` acts on the decisions, and a dry run shows them.
 */
import { systemClock } from "#core/time.ts";
import type { Event } from "#events/event.ts";
import type { Automation } from "./config.ts";
import type { StoreDeps } from "#engine/move-record.ts";
import { readSharing } from "#engine/sharing.ts";
import { matches } from "#fleet/filter.ts";
import { textOf } from "#fleet/sim/sim-fields.ts";
import { type SimOperation, changesOf, inputsOf } from "#fleet/sim-operation/sim-operation.ts";
import { type Inventory, fieldInputOf } from "#jobs/inventory/store/inventory.ts";
import type { KnownSim } from "#jobs/inventory/records/sim-record.ts";
import type { AutomationLog } from "./record.ts";

export type Decision =
  /** Run the task. */
  | "act"
  /** The condition does not match. */
  | "condition"
  /** The SIM is as requested already. */
  | "unchanged"
  /** The SIM is no longer listed, or not in the inventory. */
  | "gone"
  /** The automation itself caused the event. */
  | "loop";

export interface Decided {
  readonly event: Event;
  readonly decision: Decision;
  /** Automations that caused the event, first one first. */
  readonly chain: readonly string[];
}

export interface DecisionDeps extends Pick<StoreDeps, "redis" | "keys"> {
  readonly inventory: Pick<Inventory, "lookUp">;
  readonly log: AutomationLog;
  /** Name of the column that identifies a SIM. */
  readonly keyColumnOf: (profile: string) => string;
  /** A SIM operation as the profile uses it. */
  readonly operationOf: (name: string, profile: string) => SimOperation;
}

/** The events that an automation is about: of SIMs and syncs, those of every profile with the same inventory. */
export async function meantFor(
  { on, profile }: Automation,
  events: readonly Event[],
  deps: Pick<StoreDeps, "redis" | "keys">,
): Promise<readonly Event[]> {
  const sharers = (await readSharing(deps)).sharers(profile);
  const isShared = ({ type, profile: of }: Event): boolean => /^(?:sim|sync)\./.test(type) && sharers.includes(of);
  return events.filter((event) => on.includes(event.type) && (event.profile === profile || isShared(event)));
}

/** The events that match the automation, in order, with its decisions. */
export async function decide(
  automation: Automation,
  events: readonly Event[],
  deps: DecisionDeps,
): Promise<readonly Decided[]> {
  const meant = await meantFor(automation, events, deps);
  if (meant.length === 0) return [];
  const sims = [...new Set(meant.flatMap(({ fields }) => fields.sim ?? []))];
  const causes = [...new Set(meant.flatMap((event) => causeOf(event) ?? []))];
  const [found, chains] = await Promise.all([deps.inventory.lookUp(automation.profile, sims), deps.log.chains(causes)]);
  const known = new Map(sims.map((sim, i) => [sim, found[i]]));
  const nowMs = systemClock.wallMs();
  return meant.map((event): Decided => {
    const chain = chains.get(causeOf(event) ?? "") ?? [];
    const { sim = "" } = event.fields;
    return { event, chain, decision: decideOn(automation, { event, chain, known: known.get(sim), nowMs }, deps) };
  });
}

function decideOn(
  { name, profile, condition, action }: Automation,
  { event, chain, known, nowMs }: Pick<Decided, "event" | "chain"> & { known: KnownSim | undefined; nowMs: number },
  { keyColumnOf, operationOf }: DecisionDeps,
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
  if (!matches(condition, valueOf, nowMs)) return "condition";
  if (action.job === "apply") {
    if (known === undefined || known.goneAtMs !== undefined) return "gone";
    const operation = operationOf(action.operation, profile);
    const changes = changesOf(operation, sim ?? "", inputsOf(operation, action.set));
    const isAlready = changes.every(([field, after]) => (fieldInputOf(known, field) ?? null) === after);
    if (changes.length > 0 && isAlready) return "unchanged";
  }
  return chain.includes(name) ? "loop" : "act";
}

/** The run, sync or rotation that caused an event. */
function causeOf({ fields }: Event): string | undefined {
  return fields.cause ?? fields.run;
}

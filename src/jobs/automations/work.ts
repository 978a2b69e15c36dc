/**
 * Acts on events for one automation. An event may be delivered more than once (crash, replay): it is claimed for its task
 * before the task starts, under an id with which the task can be started again without doing it twice. An automation that
 * triggers itself, exceeds its hourly limit, or has killed three workers is stopped and reports this.
 */
import { messageOf } from "#core/errors.ts";
import type { Clock } from "#core/time.ts";
import { type FaultRules, actionAfter } from "#engine/fault-policy.ts";
import { type PoisonGuard, quarantined, quarantineReason } from "#engine/poison-guard.ts";
import type { Event } from "#events/event.ts";
import type { Automation } from "./config.ts";
import type { TaskReference } from "#fleet/task.ts";
import type { AutomationTasks } from "#jobs/tasks/tasks.ts";
import { type Decided, type DecisionDeps, decide, meantFor } from "./decide.ts";

export interface AutomationDeps extends DecisionDeps {
  readonly clock: Clock;
  readonly guard: Pick<PoisonGuard, "run">;
  readonly tasks: AutomationTasks;
}

/** Other faults are thrown: the events are delivered again. */
const faultRules: FaultRules = { hopeless: "give-up" };

/**
 * Handles a batch of events.
 * @throws temporary errors of a task; the events must be delivered again then
 */
export async function actOn(automation: Automation, events: readonly Event[], deps: AutomationDeps): Promise<void> {
  const [event] = await meantFor(automation, events, deps);
  if (event === undefined) return;
  const acted = await deps.guard.run(`automation ${automation.name} ${event.id}`, () => act(automation, events, deps));
  if (acted === quarantined) await stop(automation, { reason: quarantineReason, event, deps });
}

async function act(automation: Automation, events: readonly Event[], deps: AutomationDeps): Promise<void> {
  const { log, clock } = deps;
  const decided = await decide(automation, events, deps);
  if (decided.length === 0 || (await log.record(automation)).state !== "active") return;
  const unchanged = decided.filter(({ decision }) => decision === "unchanged").length;
  const loop = decided.find(({ decision }) => decision === "loop");
  if (loop !== undefined) {
    const reason = `it would trigger itself: ${loop.event.type} ${loop.event.id} was caused by its own change`;
    return stop(automation, { reason, event: loop.event, deps });
  }
  const wanted = decided.filter(({ decision }) => decision === "act");
  if (wanted.length > 0) await begin(automation, wanted, deps);
  const lastEventAtMs = decided.at(-1)?.event.atMs ?? clock.wallMs();
  await log.count(automation, unchanged, lastEventAtMs);
}

async function begin(automation: Automation, wanted: readonly Decided[], deps: AutomationDeps): Promise<void> {
  const { log, clock, tasks } = deps;
  const { name, maxPerHour } = automation;
  const atMs = clock.wallMs();
  const eventIds = wanted.map(({ event }) => event.id);
  // Derived from all events: those already claimed may be delivered again together with new ones.
  const id = tasks.runIdFor([name, ...eventIds].join(" "), atMs);
  const claims = await log.claim(name, eventIds, { id, maxPerHour, atMs });
  if (claims === undefined) {
    const reason = `it would act on more than ${maxPerHour} events within an hour (maxPerHour)`;
    return stop(automation, { reason, event: wanted[0]?.event, deps });
  }
  for (const claimed of new Set(claims.values())) {
    const those = wanted.filter(({ event }) => claims.get(event.id) === claimed);
    await beginOne(automation, { id: claimed, those, deps });
  }
}

interface ClaimedTask {
  readonly id: string;
  /** The events that it is for. */
  readonly those: readonly Decided[];
  readonly deps: AutomationDeps;
}

async function beginOne(automation: Automation, task: ClaimedTask): Promise<void> {
  const { id, those, deps } = task;
  const cause = those[0]?.event;
  const reported = { events: those.length, event: cause?.id, on: cause?.type, job: automation.action.job };
  try {
    const { id: ref } = await doTask(automation, task);
    const event = { type: "automation.started", fields: { ...reported, cause: ref } } as const;
    await deps.log.begun(automation, { id, ref, counted: "done", events: those.length, event });
  } catch (thrown) {
    actionAfter(thrown, 0, faultRules);
    const event = { type: "automation.failed", fields: { ...reported, reason: messageOf(thrown) } } as const;
    await deps.log.begun(automation, { id, ref: id, counted: "failed", events: those.length, event });
  }
}

async function doTask({ name, profile, action }: Automation, task: ClaimedTask): Promise<TaskReference> {
  const { id, those } = task;
  const { tasks, log } = task.deps;
  const by = `automation:${name}`;
  const chain = [...new Set([...those.flatMap((one) => one.chain), name])];
  if (action.job === "apply") {
    const sims = [...new Set(those.flatMap(({ event }) => event.fields.sim ?? []))];
    // Saved before the run's changes can emit events.
    await log.saveChain(id, chain);
    return tasks.changeSims({ ...action, profile, sims }, { runId: id, name, by });
  }
  const sinceMs = Math.min(...those.map(({ event }) => event.atMs));
  const begun = await tasks.begin(action, { key: id, by, sinceMs });
  if (typeof begun === "string") return { kind: "report", id: begun };
  await log.saveChain(begun.id, chain);
  return begun;
}

async function stop(
  automation: Automation,
  { reason, event, deps }: { reason: string; event: Event | undefined; deps: AutomationDeps },
): Promise<void> {
  await deps.log.move(automation, {
    from: ["active"],
    to: "stopped",
    reason,
    atMs: deps.clock.wallMs(),
    event: { type: "automation.stopped", fields: { reason, event: event?.id } },
  });
}

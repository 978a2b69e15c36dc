/**
 * Acts on events for one automation. An event may be delivered more than once (crash, replay): it is claimed for its
 * task before the task starts, under an id with which the task can be started again without doing it twice. An
 * automation that triggers itself, exceeds its hourly limit, or has killed three workers is stopped and reports this.
 * The service at the end has the operations that the CLI and the HTTP API share.
 */
import { SimfleetError, entryNamed, messageOf } from "#core/errors.ts";
import { dayMs, systemClock } from "#core/time.ts";
import { quarantined, quarantineReason } from "#engine/poison-guard.ts";
import type { Event } from "#events/event.ts";
import { idBefore } from "#events/feed.ts";
import * as routes from "./contract.ts";
import { reportOf } from "#contract/fields.ts";
import { type Endpoint, endpoint } from "#contract/route.ts";
import type { Automation } from "./config.ts";
import type { TaskReference } from "#fleet/task.ts";
import type { RunService } from "#jobs/runs/service.ts";
import { runIdFor } from "#jobs/runs/submit.ts";
import { type AutomationTasks, shownOperation } from "#jobs/tasks/tasks.ts";
import type { Kernel } from "#kernel/kernel.ts";
import { readSharing } from "#engine/sharing.ts";
import { matches } from "#fleet/filter.ts";
import { textOf } from "#fleet/sim/sim-fields.ts";
import { changesOf, inputsOf } from "#fleet/sim-operation/sim-operation.ts";
import { type Inventory, fieldInputOf } from "#jobs/inventory/store/inventory.ts";
import type { KnownSim } from "#jobs/inventory/records/sim-record.ts";
import type { AutomationLog } from "./record.ts";

/** `redis` and `keys` say which profiles share an inventory. */
export interface AutomationDeps extends Pick<Kernel, "redis" | "keys" | "clock" | "guard" | "keyColumnOf"> {
  readonly tasks: AutomationTasks;
  readonly inventory: { readonly store: Pick<Inventory, "lookUp"> };
  readonly log: AutomationLog;
  readonly runs: { readonly service: Pick<RunService, "operation"> };
}

/**
 * Handles a batch of events.
 * @throws temporary errors of a task; the events must be delivered again then
 */
export async function actOn(automation: Automation, events: readonly Event[], deps: AutomationDeps): Promise<void> {
  const meant = await meantFor(automation, events, deps);
  const [event] = meant;
  if (event === undefined) return;
  const acted = await deps.guard.run(`automation ${automation.name} ${event.id}`, () => act(automation, meant, deps));
  if (acted === quarantined) await stop(automation, quarantineReason, event, deps);
}

async function act(automation: Automation, meant: readonly Event[], deps: AutomationDeps): Promise<void> {
  const { log, clock } = deps;
  const decided = await decide(automation, meant, deps);
  if ((await log.record(automation)).state !== "active") return;
  const unchanged = decided.filter(({ decision }) => decision === "unchanged").length;
  const loop = decided.find(({ decision }) => decision === "loop");
  if (loop !== undefined) {
    const reason = `it would trigger itself: ${loop.event.type} ${loop.event.id} was caused by its own change`;
    return stop(automation, reason, loop.event, deps);
  }
  const wanted = decided.filter(({ decision }) => decision === "act");
  if (wanted.length > 0) await begin(automation, wanted, deps);
  const lastEventAtMs = decided.at(-1)?.event.atMs ?? clock.wallMs();
  await log.count(automation, unchanged, lastEventAtMs);
}

async function begin(automation: Automation, wanted: readonly Decided[], deps: AutomationDeps): Promise<void> {
  const { log, clock } = deps;
  const { name, maxPerHour } = automation;
  const atMs = clock.wallMs();
  const eventIds = wanted.map(({ event }) => event.id);
  // Derived from the events alone, so that it is the same where Redis has lost their claims. From all of them: those
  // already claimed may be delivered again together with new ones.
  const id = runIdFor([name, ...eventIds].join(" "), wanted[0]?.event.atMs ?? atMs);
  const claims = await log.claim(name, eventIds, { id, maxPerHour, atMs });
  if (claims === undefined) {
    const reason = `it would act on more than ${maxPerHour} events within an hour (maxPerHour)`;
    return stop(automation, reason, wanted[0]?.event, deps);
  }
  for (const [claimed, those] of Map.groupBy(wanted, ({ event }) => claims.get(event.id) ?? id)) {
    await beginOne(automation, { id: claimed, those }, deps);
  }
}

type ClaimedTask = Readonly<{ id: string; those: readonly Decided[] }>;

async function beginOne(automation: Automation, task: ClaimedTask, deps: AutomationDeps): Promise<void> {
  const { id, those } = task;
  const cause = those[0]?.event;
  const events = those.length;
  const reported = { events, event: cause?.id, on: cause?.type, job: automation.action.job };
  const begun = await doTask(automation, task, deps).then(
    ({ id: ref }) => {
      const event = { type: "automation.started", fields: { ...reported, cause: ref } } as const;
      return { ref, counted: "done" as const, event };
    },
    (thrown: unknown) => {
      // After other faults, the events are delivered again.
      if (!(thrown instanceof SimfleetError && thrown.disposition === "never")) throw thrown;
      const event = { type: "automation.failed", fields: { ...reported, reason: messageOf(thrown) } } as const;
      return { ref: id, counted: "failed" as const, event };
    },
  );
  await deps.log.begun(automation, { id, events, ...begun });
}

async function doTask(
  { name, profile, action }: Automation,
  { id, those }: ClaimedTask,
  { tasks, log }: AutomationDeps,
): Promise<TaskReference> {
  const by = `automation:${name}`;
  const chain = [...new Set([...those.flatMap((one) => one.chain), name])];
  if (action.job === "apply") {
    const sims = [...new Set(those.flatMap(({ event }) => event.fields.sim ?? []))];
    // Saved before the run's changes can emit events.
    await log.saveChain(id, chain);
    return tasks.changeSims({ ...action, profile, sims }, { runId: id, name, by });
  }
  const sinceMs = Math.min(...those.map(({ event }) => event.atMs));
  const begun = await tasks.begin(action, { key: id, by, dueMs: sinceMs, sinceMs });
  if (typeof begun === "string") return { kind: "report", id: begun };
  await log.saveChain(begun.id, chain);
  return begun;
}

function stop(automation: Automation, reason: string, event: Event | undefined, { log }: AutomationDeps) {
  const stopped = { type: "automation.stopped", fields: { reason, event: event?.id } } as const;
  return log.move(automation, ["active"], { state: "stopped", reason }, stopped);
}

// Decides what an automation does with events: which of them match, and whether there is something to do. It has no
// side effects, so that a dry run can show the decisions.

interface Decided {
  readonly event: Event;
  readonly decision: ReturnType<typeof decideOn>;
  /** Automations that caused the event, first one first. */
  readonly chain: readonly string[];
}

/** The events that an automation is about: of SIMs and syncs, those of every profile with the same inventory. */
async function meantFor({ on, profile }: Automation, events: readonly Event[], deps: Pick<Kernel, "redis" | "keys">) {
  const sharers = (await readSharing(deps)).sharers(profile);
  const isShared = ({ type, profile: of }: Event): boolean => /^(?:sim|sync)\./.test(type) && sharers.includes(of);
  return events.filter((event) => on.includes(event.type) && (event.profile === profile || isShared(event)));
}

/** The decisions of an automation on events that it is about. */
async function decide(automation: Automation, meant: readonly Event[], deps: AutomationDeps) {
  const sims = [...new Set(meant.flatMap(({ fields }) => fields.sim ?? []))];
  const causes = [...new Set(meant.flatMap((event) => causeOf(event) ?? []))];
  const [found, chains] = await Promise.all([
    deps.inventory.store.lookUp(automation.profile, sims),
    deps.log.chains(causes),
  ]);
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
  { keyColumnOf, runs }: AutomationDeps,
) {
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
    const operation = runs.service.operation(action.operation, profile);
    const changes = changesOf(operation, sim ?? "", inputsOf(operation, action.set));
    const isAlready = changes.every(([field, after]) => (fieldInputOf(known, field) ?? null) === after);
    if (changes.length > 0 && isAlready) return "unchanged";
  }
  return chain.includes(name) ? "loop" : "act";
}

function causeOf({ fields }: Event): string | undefined {
  return fields.cause ?? fields.run;
}

// Operations on automations.

const readAtOnce = 1_000;
/** Claims of events live for two days; replaying older events could act on them twice. */
const oldestMs = dayMs;

type ServiceDeps = AutomationDeps & Pick<Kernel, "feed">;

export type AutomationService = ReturnType<typeof automationService>;

export function automationService(automations: readonly Automation[], deps: ServiceDeps) {
  const { log, runs } = deps;

  const byName = automations.map((one): [string, Automation] => [one.name, one]);
  /** @throws SimfleetError AUTOMATION_NOT_FOUND */
  const automationNamed = (name: string) => entryNamed(byName, name, "automation", "AUTOMATION_NOT_FOUND");

  const reportOn = async (automation: Automation): Promise<routes.AutomationReport> => {
    const { profile, condition, action } = automation;
    return reportOf(routes.automationReport, {
      ...automation,
      ...(await log.record(automation)),
      ...shownOperation(action, profile, runs.service),
      where: condition.text,
      job: action.job,
    });
  };

  /** In the order of the configuration. */
  const list = (): Promise<routes.AutomationReport[]> => Promise.all(automations.map(reportOn));

  /** @throws SimfleetError AUTOMATION_NOT_FOUND */
  const show = async (name: string): Promise<routes.AutomationReport> => reportOn(automationNamed(name));

  /** Ignores events from now on. */
  const pause = async (name: string, by: string) => {
    const event = { type: "automation.paused", fields: { by } } as const;
    await log.move(automationNamed(name), ["active"], { state: "paused", reason: undefined }, event);
    return show(name);
  };

  /** Acts on events again from now on; `replay` handles those emitted while it was paused. */
  const resume = async (name: string, by: string) => {
    const event = { type: "automation.resumed", fields: { by } } as const;
    const change = { state: "active", reason: undefined } as const;
    await log.move(automationNamed(name), ["paused", "stopped"], change, event);
    return show(name);
  };

  const endpoints = (): readonly Endpoint[] => [
    endpoint(routes.listAutomations, async () => ({ automations: await list(), nextCursor: null })),
    endpoint(routes.pauseAutomation, ({ params, by }) => pause(params.name, by)),
    endpoint(routes.resumeAutomation, ({ params, by }) => resume(params.name, by)),
  ];
  return {
    list,
    show,
    pause,
    resume,
    dryRun: async (name: string, sinceMs: number) => dryRun(automationNamed(name), sinceMs, deps),
    replay: async (name: string, sinceMs: number) => replay(automationNamed(name), sinceMs, deps),
    endpoints,
  };
}

/**
 * Previews its decisions on the events of at most the last day, oldest first, based on the current inventory; `done`:
 * it has acted on the event.
 */
async function dryRun(automation: Automation, sinceMs: number, deps: ServiceDeps) {
  const decisions = [];
  for await (const events of eventsSince(sinceMs, deps)) {
    const all = await decide(automation, await meantFor(automation, events, deps), deps);
    const eventIds = all.map(({ event }) => event.id);
    const claimed = await deps.log.claimed(automation.name, eventIds);
    for (const { event, decision } of all) {
      const { id, atMs, type, fields } = event;
      const at = new Date(atMs).toISOString();
      const known = claimed.has(id) ? ("done" as const) : decision;
      decisions.push({ event: id, at, type, sim: fields.sim ?? null, decision: known } as const);
    }
  }
  return decisions;
}

/**
 * Processes events of at most the last day that it has not acted on, such as those emitted while it was stopped.
 * @returns the number of matching events that were checked
 * @throws SimfleetError AUTOMATION_STATE_CONFLICT unless it is active
 */
async function replay(automation: Automation, sinceMs: number, deps: ServiceDeps): Promise<number> {
  const { name } = automation;
  const { state } = await deps.log.record(automation);
  if (state !== "active") {
    const command = `simfleet automations resume ${name}`;
    throw new SimfleetError(
      "AUTOMATION_STATE_CONFLICT",
      `The automation ${name} is ${state}: resume it first (${command})`,
    );
  }
  let events = 0;
  for await (const stretch of eventsSince(sinceMs, deps)) {
    const meant = await meantFor(automation, stretch, deps);
    events += meant.length;
    await actOn(automation, meant, deps);
  }
  return events;
}

async function* eventsSince(sinceMs: number, { clock, feed }: ServiceDeps): AsyncGenerator<readonly Event[]> {
  const fromMs = Math.max(sinceMs, clock.wallMs() - oldestMs);
  const headId = await feed.head();
  const until = Number(headId.split("-")[0]);
  let lastId = idBefore(fromMs);
  for (;;) {
    const page = await feed.after(lastId, readAtOnce);
    if (page.lastId === lastId) return;
    lastId = page.lastId;
    // Workers handle the events emitted in the meantime.
    yield page.events.filter(({ atMs }) => atMs <= until);
    if (Number(lastId.split("-")[0]) > until) return;
  }
}

/** Operations on automations, shared by the CLI and the HTTP API. */
import * as routes from "./contract.ts";
import { inputsOf, shownInputs } from "#fleet/sim-operation/sim-operation.ts";
import { notConfigured, SimfleetError } from "#core/errors.ts";
import type { Event } from "#events/event.ts";
import type { Feed } from "#events/feed.ts";
import type { Automation } from "./config.ts";
import { type AutomationDeps, actOn, type Decided, type Decision, decide, meantFor } from "./work.ts";
import type { AutomationReport } from "./contract.ts";
import { type Endpoint, endpoint } from "#contract/route.ts";
import { isoTime } from "#core/time.ts";

const readAtOnce = 1_000;
/** Claims of events live for two days; replaying older events could act on them twice. */
const oldestMs = 86_400_000;

export class AutomationService {
  readonly #deps: AutomationDeps & { readonly feed: Feed };
  readonly #automations: readonly Automation[];

  constructor(automations: readonly Automation[], deps: AutomationDeps & { readonly feed: Feed }) {
    this.#deps = deps;
    this.#automations = automations;
  }

  /** In the order of the configuration. */
  list(): Promise<AutomationReport[]> {
    return Promise.all(this.#automations.map((one) => this.#report(one)));
  }

  /** @throws SimfleetError AUTOMATION_NOT_FOUND */
  async show(name: string): Promise<AutomationReport> {
    return this.#report(this.#automation(name));
  }

  /** Ignores events from now on. */
  pause(name: string, by: string): Promise<AutomationReport> {
    const event = { type: "automation.paused", fields: { by } } as const;
    return this.#move(name, { from: ["active"], to: "paused", event });
  }

  /** Acts on events again from now on; `replay` handles those emitted while it was paused. */
  resume(name: string, by: string): Promise<AutomationReport> {
    const event = { type: "automation.resumed", fields: { by } } as const;
    return this.#move(name, { from: ["paused", "stopped"], to: "active", event });
  }

  /** Previews its decisions on the events of at most the last day, oldest first, based on the current inventory. */
  async *dryRun(name: string, sinceMs: number): AsyncGenerator<DecisionReport> {
    const automation = this.#automation(name);
    for await (const events of this.#since(sinceMs)) {
      const all = await decide(automation, events, this.#deps);
      const claimed = await this.#deps.log.claimed(
        name,
        all.map(({ event }) => event.id),
      );
      for (const one of all) yield reportOf(one, claimed.has(one.event.id));
    }
  }

  /**
   * Processes events of at most the last day that it has not acted on, such as those emitted while it was stopped.
   * @returns the number of matching events that were checked
   * @throws SimfleetError AUTOMATION_STATE_CONFLICT unless it is active
   */
  async replay(name: string, sinceMs: number): Promise<{ events: number }> {
    const automation = this.#automation(name);
    const { state } = await this.show(name);
    if (state !== "active") {
      const command = `simfleet automations resume ${name}`;
      throw new SimfleetError(
        "AUTOMATION_STATE_CONFLICT",
        `The automation ${name} is ${state}: resume it first (${command})`,
      );
    }
    let events = 0;
    for await (const stretch of this.#since(sinceMs)) {
      events += (await meantFor(automation, stretch, this.#deps)).length;
      await actOn(automation, stretch, this.#deps);
    }
    return { events };
  }

  async *#since(sinceMs: number): AsyncGenerator<readonly Event[]> {
    const fromMs = Math.max(sinceMs, this.#deps.clock.wallMs() - oldestMs);
    const headId = await this.#deps.feed.head();
    const until = Number(headId.split("-")[0]);
    let lastId = `${Math.max(0, Math.floor(fromMs) - 1)}-18446744073709551615`;
    for (;;) {
      const page = await this.#deps.feed.after(lastId, readAtOnce);
      if (page.lastId === lastId) return;
      lastId = page.lastId;
      // Workers handle the events emitted in the meantime.
      yield page.events.filter(({ atMs }) => atMs <= until);
      if (Number(lastId.split("-")[0]) > until) return;
    }
  }

  async #move(
    name: string,
    move: Pick<Parameters<AutomationDeps["log"]["move"]>[1], "from" | "to" | "event">,
  ): Promise<AutomationReport> {
    await this.#deps.log.move(this.#automation(name), { ...move, atMs: this.#deps.clock.wallMs() });
    return this.show(name);
  }

  #automation(name: string): Automation {
    const found = this.#automations.find((one) => one.name === name);
    if (found !== undefined) return found;
    const known = this.#automations.map((one) => one.name);
    throw notConfigured("AUTOMATION_NOT_FOUND", "automation", name, known);
  }

  async #report({ name, profile, on, condition, action, maxPerHour }: Automation): Promise<AutomationReport> {
    const record = await this.#deps.log.record({ name, profile });
    const { state, reason, done, unchanged, failed, lastEventAtMs, lastRef } = record;
    return {
      name,
      profile,
      on,
      where: condition.text,
      job: action.job,
      ...this.#operationOf(profile, action),
      state,
      reason: reason ?? null,
      done,
      unchanged,
      failed,
      lastEventAt: isoTime(lastEventAtMs),
      lastRef: lastRef ?? null,
      maxPerHour,
    };
  }

  /** Operation and values; secret values are left out. */
  #operationOf(profile: string, action: Automation["action"]): Pick<AutomationReport, "operation" | "set"> {
    if (action.job !== "apply") return { operation: null, set: {} };
    const operation = this.#deps.operationOf(action.operation, profile);
    return { operation: operation.name, set: shownInputs(operation, inputsOf(operation, action.set)) };
  }
}

/** The decision on one event; `done`: the automation has acted on it. */
export interface DecisionReport {
  readonly event: string;
  readonly at: string;
  readonly type: string;
  readonly sim: string | null;
  readonly decision: Decision | "done";
}

function reportOf({ event, decision }: Decided, isClaimed: boolean): DecisionReport {
  const { id, atMs, type, fields } = event;
  return {
    event: id,
    at: new Date(atMs).toISOString(),
    type,
    sim: fields.sim ?? null,
    decision: isClaimed ? "done" : decision,
  };
}

// What answers the routes of automations.

export function automationEndpoints(automations: AutomationService): readonly Endpoint[] {
  return [
    endpoint(routes.listAutomations, async () => ({ automations: await automations.list(), nextCursor: null })),
    endpoint(routes.pauseAutomation, ({ params, by }) => automations.pause(params.name, by)),
    endpoint(routes.resumeAutomation, ({ params, by }) => automations.resume(params.name, by)),
  ];
}

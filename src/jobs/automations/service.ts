/** Operations on automations, shared by the CLI and the HTTP API. */
import { notConfigured, SimfleetError } from "#core/errors.ts";
import type { Event } from "#events/event.ts";
import { idBefore } from "#events/feed.ts";
import type { Automation } from "./config.ts";
import { shownOperation } from "#jobs/tasks/tasks.ts";
import * as routes from "./contract.ts";
import { reportOf } from "#contract/fields.ts";
import type { Kernel } from "#kernel/kernel.ts";
import { type Endpoint, endpoint } from "#contract/route.ts";
import { type AutomationDeps, actOn, decide, meantFor } from "./work.ts";

const readAtOnce = 1_000;
/** Claims of events live for two days; replaying older events could act on them twice. */
const oldestMs = 86_400_000;

export class AutomationService {
  readonly #deps: AutomationDeps & Pick<Kernel, "feed">;
  readonly #automations: readonly Automation[];

  constructor(automations: readonly Automation[], deps: AutomationDeps & Pick<Kernel, "feed">) {
    this.#deps = deps;
    this.#automations = automations;
  }

  /** In the order of the configuration. */
  list(): Promise<routes.AutomationReport[]> {
    return Promise.all(this.#automations.map((one) => this.#report(one)));
  }

  /** @throws SimfleetError AUTOMATION_NOT_FOUND */
  async show(name: string): Promise<routes.AutomationReport> {
    return this.#report(this.#automation(name));
  }

  /** Ignores events from now on. */
  async pause(name: string, by: string): Promise<routes.AutomationReport> {
    const event = { type: "automation.paused", fields: { by } } as const;
    await this.#deps.log.move(this.#automation(name), ["active"], { state: "paused", reason: undefined }, event);
    return this.show(name);
  }

  /** Acts on events again from now on; `replay` handles those emitted while it was paused. */
  async resume(name: string, by: string): Promise<routes.AutomationReport> {
    const event = { type: "automation.resumed", fields: { by } } as const;
    const change = { state: "active", reason: undefined } as const;
    await this.#deps.log.move(this.#automation(name), ["paused", "stopped"], change, event);
    return this.show(name);
  }

  /**
   * Previews its decisions on the events of at most the last day, oldest first, based on the current inventory; `done`: it
   * has acted on the event.
   */
  async dryRun(name: string, sinceMs: number) {
    const automation = this.#automation(name);
    const decisions = [];
    for await (const events of this.#since(sinceMs)) {
      const all = await decide(automation, events, this.#deps);
      const eventIds = all.map(({ event }) => event.id);
      const claimed = await this.#deps.log.claimed(name, eventIds);
      for (const { event, decision } of all) {
        const { id, atMs, type, fields } = event;
        const at = new Date(atMs).toISOString();
        const known = claimed.has(id) ? ("done" as const) : decision;
        decisions.push({ event: id, at, type, sim: fields.sim ?? null, decision: known });
      }
    }
    return decisions;
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

  endpoints(): readonly Endpoint[] {
    return [
      endpoint(routes.listAutomations, async () => ({ automations: await this.list(), nextCursor: null })),
      endpoint(routes.pauseAutomation, ({ params, by }) => this.pause(params.name, by)),
      endpoint(routes.resumeAutomation, ({ params, by }) => this.resume(params.name, by)),
    ];
  }

  async *#since(sinceMs: number): AsyncGenerator<readonly Event[]> {
    const fromMs = Math.max(sinceMs, this.#deps.clock.wallMs() - oldestMs);
    const headId = await this.#deps.feed.head();
    const until = Number(headId.split("-")[0]);
    let lastId = idBefore(fromMs);
    for (;;) {
      const page = await this.#deps.feed.after(lastId, readAtOnce);
      if (page.lastId === lastId) return;
      lastId = page.lastId;
      // Workers handle the events emitted in the meantime.
      yield page.events.filter(({ atMs }) => atMs <= until);
      if (Number(lastId.split("-")[0]) > until) return;
    }
  }

  #automation(name: string): Automation {
    const found = this.#automations.find((one) => one.name === name);
    if (found !== undefined) return found;
    const known = this.#automations.map((one) => one.name);
    throw notConfigured("AUTOMATION_NOT_FOUND", "automation", name, known);
  }

  async #report(automation: Automation): Promise<routes.AutomationReport> {
    const { profile, condition, action } = automation;
    return reportOf(routes.automationReport, {
      ...automation,
      ...(await this.#deps.log.record(automation)),
      ...shownOperation(action, profile, this.#deps.operationOf),
      where: condition.text,
      job: action.job,
    });
  }
}

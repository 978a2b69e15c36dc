/** Automations over a real event stream and inventory: what they act on, once each; loops, limits and crashes. */
import { setSpeedClass } from "#fleet/sim-operation/sim-operation.ts";
import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { SimfleetError } from "#core/errors.ts";
import { systemClock } from "#core/time.ts";
import type { Event } from "#events/event.ts";
import { beforeAll, Feed } from "#events/feed.ts";
import type { Automation } from "#jobs/automations/config.ts";
import { everySim, parseFilter } from "#fleet/filter.ts";
import type { AutomationAction, TaskReference } from "#fleet/task.ts";
import { type AutomationDeps, type AutomationService, actOn, automationService } from "#jobs/automations/service.ts";
import { type AutomationLog, automationLog } from "#jobs/automations/record.ts";
import { openTestRedis } from "../../support/redis.ts";
import { FleetHarness } from "../inventory/fleet-harness.ts";
import { keptBounds } from "../ledger/run-of.ts";
import type { AutomationTasks } from "#jobs/tasks/tasks.ts";
import { noGuard } from "../../support/no-guard.ts";

const place = openTestRedis();
const { redis, keys } = place;
const change: AutomationAction = {
  job: "apply",
  operation: "set-speed-class",
  set: { speedClass: "s1.minimum" },
  options: {
    partial: false,
    skipUnchanged: false,
  },
};

interface BegunRun {
  readonly runId: string;
  readonly sims: readonly string[];
  readonly by: string;
}

/** What was started, under which id. */
class Tasks {
  readonly runs = new Map<string, BegunRun>();
  readonly others: { readonly key: string; readonly id: string }[] = [];
  fault: Error | undefined;

  changeSims(
    { sims }: { sims: readonly string[] },
    { runId, by }: { runId: string; by: string },
  ): Promise<TaskReference> {
    if (this.fault !== undefined) return Promise.reject(this.fault);
    if (!this.runs.has(runId)) this.runs.set(runId, { runId, sims, by });
    return Promise.resolve({ kind: "run", id: runId });
  }

  begin(_: unknown, { key }: { key: string }): Promise<TaskReference> {
    if (this.fault !== undefined) return Promise.reject(this.fault);
    const found = this.others.find((one) => one.key === key) ?? { key, id: `s-${this.others.length}` };
    if (!this.others.includes(found)) this.others.push(found);
    return Promise.resolve({ kind: "sync", id: found.id });
  }

  get changed(): string[] {
    return [...this.runs.values()].flatMap(({ sims }) => sims);
  }
}

/** A fleet that was read once, and an automation that watches it. */
class Harness {
  readonly fleet: FleetHarness;
  readonly tasks = new Tasks();
  readonly log: AutomationLog;
  readonly feed: Feed;
  readonly harness: AutomationDeps;
  readonly automation: Automation;
  #lastId = beforeAll;

  private constructor(fleet: FleetHarness, written: Partial<Automation>) {
    const collaborators = { redis, keys, bounds: keptBounds };
    this.fleet = fleet;
    this.log = automationLog(collaborators);
    this.feed = new Feed({ ...collaborators, clock: systemClock });
    this.harness = {
      ...collaborators,
      clock: systemClock,
      guard: noGuard,
      log: this.log,
      inventory: { store: fleet.inventory },
      tasks: this.tasks,
      keyColumnOf: () => "simId",
      runs: { service: { operation: () => setSpeedClass } },
    };
    this.automation = {
      name: `a-${randomBytes(4).toString("hex")}`,
      profile: fleet.profile,
      on: ["sim.added"],
      action: change,
      condition: everySim,
      maxPerHour: 1e3,
      ...written,
    };
  }

  static async open(written: Partial<Automation>): Promise<Harness> {
    const fleet = await FleetHarness.open(place, { sims: 12 });
    await fleet.sync();
    const harness = new Harness(fleet, written);
    harness.#lastId = await harness.feed.head();
    return harness;
  }

  /** New SIMs appear, with this class. */
  async appear(count: number, speedClass = "s1.fast"): Promise<string[]> {
    const { sandbox } = this.fleet;
    const before = new Set(this.fleet.listed().keys());
    sandbox.fleet.add(count);
    const added = [...this.fleet.listed().keys()].filter((id) => !before.has(id));
    for (const id of added) sandbox.fleet.edit(id, { speedClass });
    await this.fleet.sync();
    return added;
  }

  /** Hands what happened since over, as the feed's consumer does. */
  async handle(harness: AutomationDeps = this.harness): Promise<void> {
    const page = await this.feed.after(this.#lastId, 5_000);
    await actOn(this.automation, page.events, harness);
    this.#lastId = page.lastId;
  }

  async allEvents(): Promise<readonly Event[]> {
    return (await this.feed.after(beforeAll, 100_000)).events;
  }

  /** Hands all that ever happened over, twice. */
  async handleAgain(): Promise<void> {
    const events = await this.allEvents();
    for (let times = 0; times < 2; times += 1) await actOn(this.automation, events, this.harness);
  }

  async reported(): Promise<Event[]> {
    return (await this.allEvents()).filter(({ fields }) => fields.automation === this.automation.name);
  }

  /** What a dry run says of each SIM. */
  async decisions(): Promise<Record<string, string>> {
    const decided = await this.runs().dryRun(this.automation.name, 0);
    return Object.fromEntries(decided.map(({ sim, decision }) => [sim ?? "", decision]));
  }

  runs(): AutomationService {
    return automationService([this.automation], { ...this.harness, feed: this.feed });
  }
}

const setup = (written: Partial<Automation> = {}): Promise<Harness> => Harness.open(written);

describe("automations", () => {
  it("an automation sets the class of the events' SIMs in one run per batch and emits an event", async () => {
    const harness = await setup();
    const added = await harness.appear(5);
    await harness.handle();
    expect(harness.tasks.runs.size).toBe(1);
    const [run] = harness.tasks.runs.values();
    expect(run?.sims.toSorted()).toEqual(added.toSorted());
    expect(run?.by).toBe(`automation:${harness.automation.name}`);
    const reported = await harness.reported();
    expect(reported.map(({ type }) => type)).toEqual(["automation.started"]);
    expect(reported[0]?.fields).toMatchObject({ on: "sim.added", events: "5", job: "apply", cause: run?.runId });
    const record = await harness.log.record(harness.automation);
    expect(record).toMatchObject({ done: 5, state: "active", lastRef: run?.runId });
  });

  it("an automation acts only on SIMs that match, have another class, and are still listed", async () => {
    const harness = await setup({ condition: parseFilter("speedClass!=s1.slow and event.by=external") });
    const slow = await harness.appear(2, "s1.slow");
    const right = await harness.appear(3, "s1.minimum");
    const [gone = "", ...wrong] = await harness.appear(4, "s1.fast");
    harness.fleet.sandbox.fleet.remove([gone]);
    await harness.fleet.sync();
    const each = (sims: string[], decision: string) => Object.fromEntries(sims.map((id) => [id, decision]));
    const left = { ...each(slow, "condition"), ...each(right, "unchanged"), [gone]: "gone" };
    expect(await harness.decisions()).toEqual({ ...left, ...each(wrong, "act") });
    expect(harness.tasks.runs.size).toBe(0);
    await harness.handle();
    expect(harness.tasks.changed.toSorted()).toEqual(wrong.toSorted());
    expect(await harness.decisions()).toEqual({ ...left, ...each(wrong, "done") });
  });

  it("an automation can match fields of events that concern no SIM", async () => {
    const action = { job: "report", profile: "", file: "x.json" } as const;
    const harness = await setup({ on: ["run.completed"], action, condition: parseFilter("failed!=0") });
    const { profile } = harness.fleet;
    const run = { name: "r", state: "completed", total: "3" };
    await harness.feed.emit({ type: "run.completed", profile, fields: { run: "r-1", failed: "0", ...run } });
    await harness.handle();
    expect(harness.tasks.others).toEqual([]);
    await harness.feed.emit({ type: "run.completed", profile, fields: { run: "r-2", failed: "2", ...run } });
    await harness.feed.emit({ type: "run.completed", profile: "another", fields: { run: "r-3", failed: "2", ...run } });
    await harness.handle();
    expect(harness.tasks.others).toHaveLength(1);
  });

  it("an automation counts and reports each report that it writes, although they have one name", async () => {
    const action = { job: "report", profile: "", file: "x.json" } as const;
    const harness = await setup({ on: ["run.completed"], action });
    const begin = (): Promise<string> => Promise.resolve("written to x.json");
    const deps = { ...harness.harness, tasks: Object.assign(new Tasks(), { begin }) as unknown as AutomationTasks };
    for (const run of ["r-1", "r-2", "r-3"]) {
      await harness.feed.emit({ type: "run.completed", profile: harness.fleet.profile, fields: { run } });
      await harness.handle(deps);
    }
    expect(await harness.log.record(harness.automation)).toMatchObject({ done: 3, lastRef: "written to x.json" });
    expect((await harness.reported()).map(({ type }) => type)).toEqual(Array(3).fill("automation.started"));
  });

  it("an automation acts once on events that are delivered again, even together with new ones", async () => {
    const harness = await setup();
    const first = await harness.appear(3);
    const head = await harness.feed.head();
    await harness.handleAgain();
    const second = await harness.appear(2);
    await harness.handleAgain();
    expect((await harness.log.record(harness.automation)).done).toBe(5);
    expect(head).not.toBe(await harness.feed.head());
    const changed = [...harness.tasks.runs.values()].map(({ sims }) => sims.toSorted());
    expect(changed).toEqual([first.toSorted(), second.toSorted()]);
  });

  it("an automation acts on events in the same run where Redis loses that it has acted on them", async () => {
    const harness = await setup();
    const added = await harness.appear(3);
    await harness.handleAgain();
    await redis.unlink(...(await redis.keys(`${keys.of("automation", harness.automation.name)}*`)));
    const later = { ...systemClock, wallMs: () => systemClock.wallMs() + 4_000 };
    await actOn(harness.automation, await harness.allEvents(), { ...harness.harness, clock: later });
    expect([...harness.tasks.runs.values()].map(({ sims }) => sims.toSorted())).toEqual([added.toSorted()]);
  });

  /** Two automations that begin a sync when one has completed; the first has begun one. */
  const setupMutual = async () => {
    const a = await setup({ on: ["sync.completed"], action: { job: "sync", profile: "" } });
    const { profile } = a.fleet;
    const complete = (cause: string) => a.feed.emit({ type: "sync.completed", profile, fields: { cause, sims: "1" } });
    const b: Automation = { ...a.automation, name: `${a.automation.name}-b` };
    await complete("s-outside");
    await a.handle();
    return { a, b, complete };
  };

  it("two automations that trigger each other are stopped as well", async () => {
    const { a, b, complete } = await setupMutual();
    const [first] = a.tasks.others;
    await complete(first?.id ?? "");
    const led = (await a.allEvents()).filter(
      ({ fields }) => fields.cause === first?.id && fields.automation === undefined,
    );
    await actOn(b, led, a.harness);
    const second = a.tasks.others.at(-1);
    expect(second).not.toBe(first);
    const back = led.map((event) => ({ ...event, id: "9999999999999-0", fields: { cause: second?.id ?? "" } }));
    await actOn(a.automation, back, a.harness);
    expect(await a.log.record(a.automation)).toMatchObject({ state: "stopped" });
    expect(await a.log.record(b)).toMatchObject({ state: "active" });
  });

  /** An automation that has acted on five events, and has stopped at the next one. */
  const setupLimited = async () => {
    const harness = await setup({ maxPerHour: 5 });
    await harness.appear(5);
    await harness.handle();
    const late = await harness.appear(1);
    await harness.handle();
    return { harness, late };
  };

  it("an automation stops before it exceeds its hourly limit", async () => {
    const { harness } = await setupLimited();
    expect(harness.tasks.changed).toHaveLength(5);
    const reason = "it would act on more than 5 events within an hour (maxPerHour)";
    expect(await harness.log.record(harness.automation)).toMatchObject({ state: "stopped", reason });
  });

  it("an automation that stopped at its hourly limit processes the rest on replay", async () => {
    const { harness, late } = await setupLimited();
    const runs = harness.runs();
    const { name } = harness.automation;
    await expect(runs.replay(name, 0)).rejects.toMatchObject({ code: "AUTOMATION_STATE_CONFLICT" });
    await runs.resume(name, "cli:anna");
    const hour = Math.floor(Date.now() / 3_600_000);
    await redis.del(keys.of("automation", name, "hour", hour), keys.of("automation", name, "hour", hour - 1));
    expect(await runs.replay(name, 0)).toBe(6);
    expect(harness.tasks.changed).toHaveLength(6);
    expect(harness.tasks.changed).toEqual(expect.arrayContaining(late));
  });

  it("an automation reports permanent failures and retries temporary ones", async () => {
    const harness = await setup();
    await harness.appear(2);
    harness.tasks.fault = new SimfleetError("STORE_UNAVAILABLE", "no answer");
    await expect(harness.handle()).rejects.toThrow("no answer");
    expect(await harness.reported()).toEqual([]);
    harness.tasks.fault = new SimfleetError("USAGE", "A run may have 1 change here");
    await harness.handle();
    expect((await harness.reported()).map(({ type, fields }) => [type, fields.reason])).toEqual([
      ["automation.failed", "A run may have 1 change here"],
    ]);
    expect(await harness.log.record(harness.automation)).toMatchObject({ state: "active", failed: 2, done: 0 });
  });

  it("a paused automation acts on nothing", async () => {
    const harness = await setup();
    const runs = harness.runs();
    await runs.pause(harness.automation.name, "cli:anna");
    await harness.appear(2);
    await harness.handle();
    expect(harness.tasks.runs.size).toBe(0);
    expect(await runs.resume(harness.automation.name, "cli:anna")).toMatchObject({ state: "active", reason: null });
    expect((await harness.reported()).map(({ type }) => type)).toEqual(["automation.paused", "automation.resumed"]);
    await expect(runs.show("none")).rejects.toMatchObject({ code: "AUTOMATION_NOT_FOUND" });
  });
});

describe("an automation that triggers itself", () => {
  /** An automation whose run changed a SIM that was changed back, and that hears of the change of its own. */
  const setupLoop = async () => {
    const harness = await setup({ on: ["sim.changed"] });
    const sims = [...harness.fleet.listed().keys()].slice(0, 2);
    const hear = async (sim = "", cause = ""): Promise<void> => {
      const fields = { sim, field: "speedClass", before: "=s1.slow", after: "=s1.fast", by: "run", cause };
      await harness.feed.emit({ type: "sim.changed", profile: harness.fleet.profile, fields });
      await harness.handle();
    };
    for (const sim of sims) harness.fleet.sandbox.fleet.edit(sim, { speedClass: "s1.fast" });
    await harness.fleet.sync();
    await harness.handle();
    await hear(sims[0], [...harness.tasks.runs.keys()][0]);
    return { harness, hearOfOther: () => hear(sims[1], "another run") };
  };

  it("is stopped with an event", async () => {
    const { harness } = await setupLoop();
    const reason = expect.stringContaining("would trigger itself") as unknown;
    expect(await harness.log.record(harness.automation)).toMatchObject({ state: "stopped", reason });
    expect((await harness.reported()).map(({ type }) => type)).toEqual(["automation.started", "automation.stopped"]);
  });

  it("acts on nothing until a user resumes it", async () => {
    const { harness, hearOfOther } = await setupLoop();
    await hearOfOther();
    expect(harness.tasks.runs.size).toBe(1);
    await harness.runs().resume(harness.automation.name, "cli:anna");
    await hearOfOther();
    expect(harness.tasks.runs.size).toBe(2);
  });
});

/** Automations, to be killed: the events start one task, which is counted and reported once. */
import { setSpeedClass } from "#fleet/sim-operation/sim-operation.ts";
import { expect } from "vitest";
import { SimfleetError } from "#core/errors.ts";
import { systemClock } from "#core/time.ts";
import type { Event } from "#events/event.ts";
import { beforeAll, Feed } from "#events/feed.ts";
import type { AutomationAction } from "#fleet/task.ts";
import type { Automation } from "#jobs/automations/config.ts";
import { everySim } from "#fleet/filter.ts";
import { actOn } from "#jobs/automations/service.ts";
import { automationLog } from "#jobs/automations/record.ts";
import { KnownSim } from "#jobs/inventory/records/sim-record.ts";
import { keysWithin, type TestRedis } from "../../support/redis.ts";
import { keptBounds } from "../ledger/run-of.ts";
import type { CrashCase, CrashSubject } from "./crashes.ts";
import { noGuard } from "../../support/no-guard.ts";

const options = { partial: false, skipUnchanged: false };
const change: AutomationAction = {
  job: "apply",
  operation: "set-speed-class",
  set: { speedClass: "s1.slow" },
  options,
};
const events = [1, 2, 3].map((n): Event => {
  const id = `1790000000000-${n}`;
  return { id, type: "sim.added", atMs: 1_790_000_000_000, profile: "default", fields: { sim: `sim-${n}` } };
});
const known = new KnownSim("1 sync 1 1 -\n");

function begun(place: TestRedis, action: AutomationAction, fault?: Error): CrashSubject {
  const keys = keysWithin(place.keys);
  const collaborators = { redis: place.redis, keys, bounds: keptBounds };
  const log = automationLog(collaborators);
  const feed = new Feed({ ...collaborators, clock: systemClock });
  const automation: Automation = {
    name: "new-sims",
    profile: "default",
    on: ["sim.added"],
    action,
    condition: everySim,
    maxPerHour: 10,
  };
  /** Work that was started, by its key: starting it twice under one key starts it once. */
  const tasks = new Set<string>();
  const begin = (key: string) => {
    if (fault !== undefined) return Promise.reject(fault);
    tasks.add(key);
    return Promise.resolve({ kind: "run", id: key } as const);
  };
  let isHandled = false;
  return {
    async work(around) {
      const started = around("tasks", {
        begin: (_: unknown, { key }: { key: string }) => begin(key),
        changeSims: (_: unknown, { runId }: { runId: string }) => begin(runId),
      });
      await actOn(automation, events, {
        ...collaborators,
        log: automationLog({ ...collaborators, redis: around("redis", place.redis) }),
        clock: systemClock,
        guard: noGuard,
        runs: { service: { operation: () => setSpeedClass } },
        inventory: { store: { lookUp: (_, sims) => Promise.resolve(sims.map(() => known)) } },
        keyColumnOf: () => "simId",
        tasks: {
          begin: (task, how) => started.begin(task, how),
          changeSims: (task, how) => started.changeSims(task, how),
        },
      });
      isHandled = true;
    },
    async state() {
      const claimed = await log.claimed(automation.name, [events[0]?.id ?? ""]);
      if (claimed.size === 0) return "new";
      return (await log.record(automation)).lastRef === undefined ? "claimed" : "begun";
    },
    isOver: () => Promise.resolve(isHandled),
    async checkEnd() {
      const [reported, ...others] = [...(await feed.after(beforeAll, 100)).events];
      expect(others).toEqual([]);
      expect(reported?.fields).toMatchObject({ automation: "new-sims", events: "3" });
      const { done, failed, state } = await log.record(automation);
      expect(state).toBe("active");
      expect([done, failed]).toEqual(fault === undefined ? [3, 0] : [0, 3]);
      expect(tasks.size).toBe(fault === undefined ? 1 : 0);
      return reported?.type ?? "none";
    },
  };
}

const states = ["new", "claimed", "begun"];

export const automationCases = (place: TestRedis): readonly CrashCase[] => [
  {
    name: "an automation that changes SIMs",
    begin: () => begun(place, change),
    end: "automation.started",
    states,
  },
  {
    name: "an automation that starts a sync",
    begin: () => begun(place, { job: "sync", profile: "default" }),
    end: "automation.started",
    states,
  },
  {
    name: "an automation whose task is refused",
    begin: () => begun(place, change, new SimfleetError("USAGE", "A run may have 1 change here")),
    end: "automation.failed",
    states,
  },
];

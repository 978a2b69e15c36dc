/** Schedules, to be killed: each time is acted on once, and its task is begun once. */
import { expect } from "vitest";
import { SimfleetError } from "#core/errors.ts";
import type { TestRedis } from "../../support/redis.ts";
import { change, ScheduleDeps } from "../schedules/schedule-harness.ts";
import type { CrashCase, CrashSubject } from "./crashes.ts";

interface Way {
  /** Until the second time has come too, and takes the place of the first. */
  readonly isReplaced?: true;
  readonly faults?: number;
}

async function begun(place: TestRedis, { isReplaced, faults = 0 }: Way): Promise<CrashSubject> {
  const written = { cron: "0 * * * *", task: change, overlap: "cancel" } as const;
  const harness = new ScheduleDeps(place, "2026-11-22T02:30:00Z", written);
  await harness.poll();
  harness.nowMs = Date.parse("2026-11-22T02:59:50Z");
  harness.tasks.faults.push(...Array.from({ length: faults }, () => new SimfleetError("STORE_UNAVAILABLE", "m")));
  const times = isReplaced === undefined ? 1 : 2;
  const reported = async (type: string): Promise<number> =>
    (await harness.reported()).filter((one) => one === type).length;
  const state = async (): Promise<string> => {
    const { execution, last } = await harness.record();
    if (execution !== undefined) return execution.ref === undefined ? "starting" : "running";
    return last === undefined ? "idle" : "over";
  };
  return {
    async work(around) {
      harness.nowMs += 20_000;
      await harness.process(around).poll();
      const last = harness.begunKeys.at(-1);
      if (last === undefined) return;
      if (harness.begunKeys.length === times) harness.tasks.end(last);
      else harness.nowMs = Date.parse("2026-11-22T03:59:50Z");
    },
    state,
    isOver: async () => (await state()) === "over" && (await reported("schedule.started")) === times,
    async checkEnd() {
      const executions = ["nightly-20261122T030000Z", "nightly-20261122T040000Z"].slice(0, times);
      expect(harness.begunKeys).toEqual(executions);
      expect(await reported("schedule.started")).toBe(times);
      expect(await reported("schedule.cancelled")).toBe(times - 1);
      expect(await reported("schedule.completed")).toBe(1);
      return (await harness.record()).last?.result ?? "none";
    },
  };
}

export const scheduleCases = (place: TestRedis): readonly CrashCase[] => [
  {
    name: "a schedule",
    begin: () => begun(place, {}),
    end: "done",
    states: ["idle", "starting", "running", "over"],
  },
  {
    name: "a schedule whose task cannot be started at first",
    begin: () => begun(place, { faults: 2 }),
    end: "done",
    states: ["idle", "starting", "running", "over"],
  },
  {
    name: "a schedule whose task is replaced by the next",
    begin: () => begun(place, { isReplaced: true }),
    end: "done",
    states: ["idle", "starting", "running", "over"],
  },
];

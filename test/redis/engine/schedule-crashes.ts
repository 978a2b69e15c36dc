/** Schedules, to be killed: each time is acted on once, and its task is started once. */
import { expect } from "vitest";
import { SimfleetError } from "#core/errors.ts";
import type { TestRedis } from "../../support/redis.ts";
import { change, ScheduleDeps } from "../schedules/schedule-harness.ts";
import type { CrashCase, CrashSubject } from "./crashes.ts";

interface Way {
  /** Until the second time has come too, and takes the place of the first. */
  readonly isReplaced?: true;
  readonly faults?: number;
  /** The first two tasks fail, and the third succeeds. */
  readonly fails?: true;
}

async function begun(place: TestRedis, { isReplaced, faults = 0, fails }: Way): Promise<CrashSubject> {
  const written = { cron: "0 * * * *", task: change, overlap: "cancel" } as const;
  const harness = new ScheduleDeps(place, "2026-11-22T02:30:00Z", written);
  await harness.poll();
  harness.nowMs = Date.parse("2026-11-22T02:59:50Z");
  harness.tasks.faults.push(...Array.from({ length: faults }, () => new SimfleetError("STORE_UNAVAILABLE", "m")));
  const times = fails === true ? 3 : isReplaced === undefined ? 1 : 2;
  const failures = fails === true ? 2 : 0;
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
      const isLast = harness.begunKeys.length === times;
      if (isLast || fails === true) harness.tasks.end(last, isLast ? "done" : "failed");
      if (!isLast && (fails === undefined || (await harness.record()).execution === undefined)) {
        harness.nowMs = Date.parse(`2026-11-22T0${harness.begunKeys.length + 2}:59:50Z`);
      }
    },
    state,
    isOver: async () =>
      (await state()) === "over" &&
      (await reported("schedule.started")) === times &&
      (await harness.record()).failures === undefined,
    async checkEnd() {
      const executions = ["03", "04", "05"].map((hour) => `nightly-20261122T${hour}0000Z`).slice(0, times);
      expect(harness.begunKeys).toEqual(executions);
      expect(await reported("schedule.started")).toBe(times);
      expect(await reported("schedule.cancelled")).toBe(times - 1 - failures);
      expect(await reported("schedule.failed")).toBe(failures);
      for (const alert of ["failing", "recovered"]) {
        expect(await reported(`schedule.${alert}`)).toBe(failures === 0 ? 0 : 1);
      }
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
    name: "a schedule whose task fails twice",
    begin: () => begun(place, { fails: true }),
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

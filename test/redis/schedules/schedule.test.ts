/** One schedule over time: on time, missed, overlapping, frozen, triggered manually, and across restarts. */
import { describe, expect, it } from "vitest";
import { SimfleetError } from "#core/errors.ts";
import { scheduleService, type ScheduleService } from "#jobs/schedules/service.ts";
import { jitterOf, workOnSchedule } from "#jobs/schedules/work.ts";
import { seededRandom } from "#sandbox/seeded.ts";
import { seeds } from "../../support/long.ts";
import { openTestRedis } from "../../support/redis.ts";
import { change, ScheduleDeps } from "./schedule-harness.ts";

const place = openTestRedis();
const hourly = { cron: "0 * * * *" };
const daily = { cron: "0 3 * * *" };

/** What commands and requests reach. */
function serviceOf({ log, context, schedule }: ScheduleDeps): ScheduleService {
  const { clock } = context;
  const absent = {} as never;
  const jobs = { enqueue: () => Promise.resolve(), isServed: () => Promise.resolve(true) };
  return scheduleService({ log, clock, schedules: [schedule], jobs, tasks: absent, runs: absent });
}

/** A schedule of this day that has been polled once, at the given time. */
async function setup(time: string, written: ConstructorParameters<typeof ScheduleDeps>[2]): Promise<ScheduleDeps> {
  const harness = new ScheduleDeps(place, `2026-11-22T${time}Z`, written);
  await harness.poll();
  return harness;
}

/** The log of the schedule for a process that dies at the move after the first few. */
function logUntilDeath({ log }: ScheduleDeps, moves: number): ScheduleDeps["log"] {
  let left = moves;
  return { ...log, move: (...args) => ((left -= 1) < 0 ? Promise.reject(new Error("died")) : log.move(...args)) };
}

/** This field of all events of a type. */
async function fieldsOf(harness: ScheduleDeps, type: string, field: string): Promise<unknown[]> {
  return (await harness.events()).filter((event) => event.type === type).map(({ fields }) => fields[field]);
}

/** The key of what is due at 03:00. */
const keyAtThree = "nightly-20261122T030000Z";

describe("scheduled times", () => {
  it("a scheduled task starts once for any number of polls", async () => {
    const harness = await setup("02:59:00", daily);
    expect(await harness.poll()).toBe(Date.parse("2026-11-22T03:00:00Z"));
    expect(harness.tasks.begun).toEqual([]);
    await harness.lookAt("2026-11-22T03:00:00.120Z");
    await harness.lookAt("2026-11-22T03:00:30Z");
    expect(harness.begunKeys).toEqual([keyAtThree]);
  });

  it("a scheduled task starts once where Redis loses that it was started", async () => {
    const harness = await setup("02:59:00", { ...daily, task: change });
    const lose = await harness.keepRecord();
    await harness.lookAt("2026-11-22T03:00:00.120Z");
    await lose();
    await harness.lookAt("2026-11-22T03:00:03.700Z");
    expect(harness.begunKeys).toEqual([keyAtThree]);
    expect((await harness.record()).execution).toMatchObject({ ref: { kind: "run" } });
  });

  it("a scheduled task is followed to its end", async () => {
    const harness = await setup("02:59:00", daily);
    await harness.lookAt("2026-11-22T03:00:00.120Z");
    harness.tasks.end(keyAtThree, "done", "12 SIMs listed");
    await harness.lookAt("2026-11-22T03:01:00Z");
    expect((await harness.record()).last).toMatchObject({ result: "done", reason: "12 SIMs listed" });
    expect((await harness.record()).execution).toBeUndefined();
    const due = "2026-11-22T03:00:00.000Z";
    expect((await harness.events()).map(({ type, fields }) => [type, fields])).toEqual([
      ["schedule.started", { schedule: "nightly", execution: keyAtThree, job: "sync", due, cause: keyAtThree }],
      ["schedule.completed", expect.objectContaining({ seconds: "60", reason: "12 SIMs listed" })],
    ]);
    expect(await harness.poll()).toBe(Date.parse("2026-11-23T03:00:00Z"));
  });

  it("a scheduled task is started by only one of many processes", async () => {
    const harness = await setup("02:59:00", daily);
    harness.nowMs = Date.parse("2026-11-22T03:00:00Z");
    await Promise.all(Array.from({ length: 12 }, () => harness.poll()));
    expect(harness.begunKeys).toHaveLength(1);
    expect(await harness.reported()).toEqual(["schedule.started"]);
  });

  it("a schedule continues with its next time when its clock had been ahead, and acts on no time twice", async () => {
    const harness = await setup("02:59:00", { cron: "* * * * *" });
    const act = async (instant: string): Promise<void> => {
      await harness.lookAt(`2026-11-22T${instant}Z`);
      for (const key of harness.begunKeys) harness.tasks.end(key);
      await harness.poll();
    };
    // Its clock jumps ahead by half an hour, and back again.
    for (const instant of ["03:00:00", "03:30:10", "03:31:00", "03:32:00"]) await act(instant);
    const next = await harness.lookAt("2026-11-22T03:00:30Z");
    expect(new Date(next).toISOString()).toBe("2026-11-22T03:01:00.000Z");
    for (let minute = 1; minute < 34; minute += 1) await act(`03:${String(minute).padStart(2, "0")}:00`);
    const after = [...Array.from({ length: 29 }, (_, i) => i + 1), 33];
    expect(harness.begunKeys.map((key) => Number(key.slice(-5, -3)))).toEqual([0, 30, 31, 32, ...after]);
  });

  it("a scheduled task reports that it has nothing to do or that it failed", async () => {
    const harness = await setup("02:30:00", hourly);
    harness.tasks.nothing = "no SIM matches the filter";
    await harness.lookAt("2026-11-22T03:00:00Z");
    expect((await harness.record()).last).toMatchObject({ result: "done", reason: "no SIM matches the filter" });
    harness.tasks.nothing = undefined;
    await harness.lookAt("2026-11-22T04:00:00Z");
    harness.tasks.end("nightly-20261122T040000Z", "failed", "2 of 9 rows rejected");
    await harness.lookAt("2026-11-22T04:01:00Z");
    const reported = ["schedule.completed", "schedule.started", "schedule.failed", "schedule.failing"];
    expect(await harness.reported()).toEqual(reported);
  });

  it("a scheduled task that cannot start is retried", async () => {
    const harness = await setup("02:30:00", hourly);
    harness.tasks.faults.push(new Error("Redis is out of memory"), new Error("Redis is out of memory"));
    let nextMs = await harness.lookAt("2026-11-22T03:00:00Z");
    expect((await harness.record()).execution).toMatchObject({ tries: 1, fault: "Redis is out of memory" });
    for (let i = 0; i < 2; i += 1) {
      harness.nowMs = nextMs;
      nextMs = await harness.poll();
    }
    expect(harness.begunKeys).toEqual([keyAtThree]);
  });

  it("a scheduled task that cannot start is given up when a retry is useless", async () => {
    const harness = await setup("02:30:00", hourly);
    const reason = "The inventory has not been read yet";
    harness.tasks.faults.push(new SimfleetError("USAGE", reason));
    await harness.lookAt("2026-11-22T03:00:00Z");
    expect((await harness.record()).last).toMatchObject({ result: "failed", reason });
  });

  it("a scheduled task is delayed by its jitter, which is the same in every process", async () => {
    const jittered = { ...hourly, jitterMs: 600_000 };
    const harness = new ScheduleDeps(place, "2026-11-22T02:30:00Z", jittered);
    const dueMs = Date.parse("2026-11-22T03:00:00Z");
    const laterMs = jitterOf(harness.schedule, dueMs);
    expect(await harness.poll()).toBe(dueMs + laterMs);
    harness.nowMs = dueMs + laterMs - 1;
    expect(await harness.poll()).toBe(dueMs + laterMs);
    expect(harness.begunKeys).toEqual([]);
    harness.nowMs = dueMs + laterMs;
    await harness.poll();
    expect(harness.begunKeys).toEqual([keyAtThree]);
  });

  it("the jitter of a schedule spreads its times over the whole delay that is allowed", async () => {
    const { schedule, nowMs } = await setup("02:30:00", { ...hourly, jitterMs: 600_000 });
    const amounts = Array.from({ length: 200 }, (_, i) => jitterOf(schedule, nowMs + i * 3_600_000));
    expect(Math.max(...amounts)).toBeLessThan(600_000);
    expect(Math.max(...amounts)).toBeGreaterThan(540_000);
    expect(Math.min(...amounts)).toBeLessThan(60_000);
  });
});

describe("scheduled times missed while no worker was running", () => {
  it.each(["once", "skip"] as const)("missed scheduled times are handled according to `missed: %s`", async (missed) => {
    const harness = await setup("02:30:00", { ...hourly, missed });
    await harness.lookAt("2026-11-22T07:45:00Z");
    const [reported] = await harness.events();
    expect(reported).toMatchObject({
      type: "schedule.missed",
      fields: { times: "5", due: "2026-11-22T03:00:00.000Z", madeUp: missed === "once" ? "yes" : "no" },
    });
    expect(harness.begunKeys).toEqual(missed === "once" ? ["nightly-20261122T070000Z"] : []);
    expect(new Date((await harness.record()).dueMs ?? 0).toISOString()).toBe("2026-11-22T08:00:00.000Z");
    if (missed === "skip") expect((await harness.record()).last).toMatchObject({ result: "missed" });
  });

  it("missed scheduled times are discarded if the schedule has changed", async () => {
    const harness = await setup("02:30:00", hourly);
    const later = new ScheduleDeps(place, "2026-11-22T07:45:00Z", { cron: "30 * * * *" });
    harness.nowMs = later.nowMs;
    await workOnSchedule(later.schedule, harness.context, new AbortController().signal);
    expect(harness.begunKeys).toEqual([]);
    expect(new Date((await harness.record()).dueMs ?? 0).toISOString()).toBe("2026-11-22T08:30:00.000Z");
  });
});

describe("scheduled times with a window", () => {
  const windowed = { ...hourly, missed: { within: "15m", withinMs: 900_000 } } as const;
  const late = { result: "missed", reason: "it could not start until 2026-11-22T03:15:00.000Z" };

  it.each([
    ["2026-11-22T07:15:00Z", ["nightly-20261122T070000Z"], "yes"],
    ["2026-11-22T07:15:01Z", [], "no"],
  ] as const)("a worker that starts at %s begins %j", async (at, begun, madeUp) => {
    const harness = await setup("06:30:00", windowed);
    await harness.lookAt(at);
    expect(harness.begunKeys).toEqual(begun);
    const [missed] = await harness.events();
    expect(missed).toMatchObject({ type: "schedule.missed", fields: { madeUp, reason: "no worker was running" } });
    if (madeUp === "no") expect((await harness.record()).last).toMatchObject({ result: "missed" });
  });

  it.each(["freeze", "task"])("a time that waits for a %s beyond its window is skipped and reported", async (what) => {
    const waiting = { ...windowed, task: change, frozen: "wait", overlap: "queue" } as const;
    const harness = await setup("01:30:00", waiting);
    if (what === "freeze") harness.freeze = { reason: "a move", untilMs: Date.parse("2026-11-22T03:20:00Z") };
    await harness.lookAt(what === "task" ? "2026-11-22T02:00:00Z" : "2026-11-22T02:59:59Z");
    const before = harness.begunKeys;
    await harness.lookAt("2026-11-22T03:00:00Z");
    harness.tasks.end("nightly-20261122T020000Z");
    harness.freeze = undefined;
    await harness.lookAt("2026-11-22T03:15:15.001Z");
    expect(harness.begunKeys).toEqual(before);
    expect((await harness.record()).last).toMatchObject(late);
    const fields = { times: "1", madeUp: "no", reason: late.reason };
    expect((await harness.events()).at(-1)).toMatchObject({ type: "schedule.missed", fields });
  });

  it("a task that cannot start within its window has failed, with the reason", async () => {
    const harness = await setup("02:30:00", windowed);
    harness.tasks.faults.push(new Error("Redis is out of memory"));
    await harness.lookAt("2026-11-22T03:14:59Z");
    await harness.lookAt("2026-11-22T03:15:16Z");
    expect(harness.begunKeys).toEqual([]);
    const reason = `${late.reason}: Redis is out of memory`;
    expect((await harness.record()).last).toMatchObject({ result: "failed", reason });
  });

  it("a time is not given up while another process may still be starting it by its own clock", async () => {
    const harness = await setup("02:30:00", windowed);
    harness.tasks.faults.push(new Error("Redis is busy"));
    await harness.lookAt("2026-11-22T03:00:00Z");
    const next = await harness.lookAt("2026-11-22T03:15:00.001Z");
    expect(new Date(next).toISOString()).toBe("2026-11-22T03:15:15.001Z");
    expect([harness.begunKeys, (await harness.record()).last]).toEqual([[], undefined]);
  });

  it("a task that was begun in time is followed by a process that comes after the window", async () => {
    const harness = await setup("02:30:00", windowed);
    harness.nowMs = Date.parse("2026-11-22T03:00:00Z");
    const dying = { ...harness.context, log: logUntilDeath(harness, 1) };
    await expect(harness.poll(dying)).rejects.toThrow("died");
    harness.tasks.end(keyAtThree);
    await harness.lookAt("2026-11-22T03:40:00Z");
    expect((await harness.record()).last).toMatchObject({ result: "done" });
  });
});

describe("schedules that fail", () => {
  const pausing = { ...hourly, pauseAfterFailures: 3 };
  /** Lets a schedule run at so many hours from 01:00 on, with these results. */
  const hours = async (harness: ScheduleDeps, results: readonly ("done" | "failed" | "cancelled")[], first = 1) => {
    for (const [index, result] of results.entries()) {
      const hour = String(first + index).padStart(2, "0");
      await harness.lookAt(`2026-11-22T${hour}:00:00Z`);
      harness.tasks.end(`nightly-20261122T${hour}0000Z`, result, result === "failed" ? `no ${hour}` : undefined);
      // Several workers see its end.
      await Promise.all([harness.poll(), harness.poll(), harness.poll()]);
    }
  };
  const alerts = async (harness: ScheduleDeps): Promise<string[]> =>
    (await harness.reported()).filter((type) => /failing|recovered|paused|resumed/.test(type));

  it("an incident is one alert and its end another, however many tasks failed", async () => {
    const harness = await setup("00:30:00", hourly);
    await hours(harness, ["done", "failed", "failed", "cancelled", "failed", "done", "done", "failed", "done"]);
    const reported = ["schedule.failing", "schedule.recovered", "schedule.failing", "schedule.recovered"];
    expect(await alerts(harness)).toEqual(reported);
    const events = await harness.events();
    expect(events.find(({ type }) => type === "schedule.failing")?.fields).toMatchObject({
      execution: "nightly-20261122T020000Z",
      reason: "no 02",
    });
    expect(events.find(({ type }) => type === "schedule.recovered")?.fields).toMatchObject({
      execution: "nightly-20261122T060000Z",
      since: "2026-11-22T02:00:00.000Z",
    });
  });

  it("a schedule pauses after so many failures in a row", async () => {
    const harness = await setup("00:30:00", pausing);
    await hours(harness, ["failed", "failed", "done", "failed", "failed", "failed", "failed"]);
    expect(harness.begunKeys).toHaveLength(6);
    const reason = "it failed 3 times in a row, at last: no 06";
    expect((await harness.record()).paused).toMatchObject({ by: "simfleet", reason });
    const reported = ["schedule.failing", "schedule.recovered", "schedule.failing", "schedule.paused"];
    expect(await alerts(harness)).toEqual(reported);
    const failingSince = "2026-11-22T04:00:00.000Z";
    const paused = { state: "paused", reason, failingSince, next: [] };
    expect(await serviceOf(harness).show("nightly")).toMatchObject(paused);
  });

  it("a resumed schedule counts its failures in a row from there", async () => {
    const harness = await setup("00:30:00", pausing);
    await hours(harness, ["failed", "failed", "failed"]);
    const service = serviceOf(harness);
    await service.resume("nightly", "cli:anna");
    await harness.poll();
    await hours(harness, ["failed", "failed", "done"], 4);
    expect((await alerts(harness)).slice(2)).toEqual(["schedule.resumed", "schedule.recovered"]);
    const shown = await service.show("nightly");
    expect(shown).toMatchObject({ state: "active", reason: null, failingSince: null });
    expect(shown.next).toHaveLength(5);
  });
});

describe("scheduled times while the previous task is in progress", () => {
  /** A schedule whose task of 03:00 is still in progress at 05:00. */
  const setupOverlap = async (overlap: "skip" | "queue" | "cancel") => {
    const harness = await setup("02:30:00", { ...hourly, overlap, task: change });
    await harness.lookAt("2026-11-22T03:00:00Z");
    await harness.lookAt("2026-11-22T04:00:00Z");
    await harness.lookAt("2026-11-22T05:00:00Z");
    return harness;
  };

  it("a scheduled time is skipped while the previous task is in progress with `overlap: skip`", async () => {
    const harness = await setupOverlap("skip");
    expect(harness.begunKeys).toEqual([keyAtThree]);
    expect(await harness.reported()).toEqual(["schedule.started", "schedule.skipped", "schedule.skipped"]);
    expect((await harness.events())[1]?.fields.reason).toContain("still in progress: run nightly-20261122T030000Z");
  });

  it("only the latest scheduled time waits for the previous task with `overlap: queue`", async () => {
    const harness = await setupOverlap("queue");
    expect(harness.begunKeys).toHaveLength(1);
    harness.tasks.end(keyAtThree);
    await harness.lookAt("2026-11-22T05:10:00Z");
    expect(harness.begunKeys).toEqual([keyAtThree, "nightly-20261122T050000Z"]);
    harness.tasks.end("nightly-20261122T050000Z");
    await harness.lookAt("2026-11-22T05:20:00Z");
    expect((await harness.record()).queued).toBeUndefined();
  });

  it("a scheduled time cancels and replaces the previous task with `overlap: cancel`", async () => {
    const harness = await setupOverlap("cancel");
    expect(harness.tasks.cancelled).toEqual([keyAtThree, "nightly-20261122T040000Z"]);
    expect(harness.begunKeys.at(-1)).toBe("nightly-20261122T050000Z");
    expect((await harness.reported()).filter((type) => type === "schedule.cancelled")).toHaveLength(2);
  });
});

describe("scheduled times during a freeze", () => {
  /** A schedule at a time that lies in a freeze. */
  const setupFrozen = async (written: Parameters<typeof setup>[1]): Promise<ScheduleDeps> => {
    const harness = await setup("02:30:00", written);
    harness.freeze = { reason: "the freeze year-end", untilMs: Date.parse("2026-11-22T03:20:00Z") };
    await harness.lookAt("2026-11-22T03:00:00Z");
    return harness;
  };

  it("a freeze makes a scheduled change skip or wait, while a sync still runs", async () => {
    const skipping = await setupFrozen({ ...hourly, task: change });
    const reason = "changes are frozen: the freeze year-end";
    expect((await skipping.record()).last).toMatchObject({ result: "skipped", reason });
    const reading = await setupFrozen(hourly);
    expect(reading.begunKeys).toHaveLength(1);
    const waiting = await setupFrozen({ ...hourly, task: change, frozen: "wait" });
    expect(waiting.begunKeys).toEqual([]);
    waiting.freeze = undefined;
    await waiting.lookAt("2026-11-22T03:20:00Z");
    expect(waiting.begunKeys).toEqual([keyAtThree]);
  });
});

/** Polls until 02:00 while tasks end, by processes of which each second one dies at one of its moves. */
async function pollWithDeaths(harness: ScheduleDeps, random: () => number): Promise<void> {
  while (harness.nowMs < Date.parse("2026-11-22T02:00:00Z")) {
    harness.nowMs += 1_000 + Math.floor(random() * 40_000);
    // A process that dies has made any number of its moves: a look whose n-th write never comes.
    const dying = random() < 0.5 ? Math.floor(random() * 3) : Number.POSITIVE_INFINITY;
    const log = logUntilDeath(harness, dying);
    await harness.poll({ ...harness.context, log }).catch(() => undefined);
    for (const key of harness.begunKeys) if (random() < 0.6) harness.tasks.end(key);
  }
  for (let i = 0; i < 4; i += 1) {
    for (const key of harness.begunKeys) harness.tasks.end(key);
    harness.nowMs += 5_000;
    await harness.poll();
  }
}

const timesUntilTwo = Array.from({ length: 24 }, (_, i) => new Date(Date.parse("2026-11-22T00:05:00Z") + i * 300_000));
const keysUntilTwo = timesUntilTwo.map((time) => `nightly-${time.toISOString().replace(/[-:]|\.000/g, "")}`);

it("a schedule loses no time and runs none twice for any process crashes and restarts", async () => {
  for (let seed = 1; seed <= seeds(10, 40); seed += 1) {
    const harness = await setup("00:00:30", { cron: "*/5 * * * *", overlap: "queue" });
    await pollWithDeaths(harness, seededRandom(seed));
    const { begunKeys } = harness;
    expect(new Set(begunKeys).size).toBe(begunKeys.length);
    expect(await fieldsOf(harness, "schedule.started", "execution")).toEqual(begunKeys);
    expect(await fieldsOf(harness, "schedule.completed", "schedule")).toHaveLength(begunKeys.length);
    // What was not started waited for one before and was overtaken by a later one.
    expect(keysUntilTwo).toEqual(expect.arrayContaining(begunKeys));
    expect(begunKeys.at(-1)).toBe(keysUntilTwo.at(-1));
    // Where no process was alive for a minute a time was missed, and made up for.
    for (const madeUp of await fieldsOf(harness, "schedule.missed", "madeUp")) expect(madeUp).toBe("yes");
  }
}, 600_000);

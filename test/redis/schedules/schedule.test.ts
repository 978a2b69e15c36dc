/** One schedule through time: on time, missed, overlapping, frozen, asked for, and over restarts. */
import { describe, expect, it } from "vitest";
import { SimfleetError } from "#core/errors.ts";
import { jitterOf } from "#jobs/schedules/times.ts";
import { workOnSchedule } from "#jobs/schedules/work.ts";
import { seededRandom } from "#sandbox/seeded.ts";
import { openTestRedis } from "../../support/redis.ts";
import { change, ScheduleHouse } from "./schedule-house.ts";

const place = openTestRedis();
const hourly = { cron: "0 * * * *" };

describe("a time that comes", () => {
  it("begins the task once, however often it is looked at, and follows it to its end", async () => {
    const house = new ScheduleHouse(place, "2026-11-22T02:59:00Z", { cron: "0 3 * * *" });
    expect(new Date(await house.look()).toISOString()).toBe("2026-11-22T03:00:00.000Z");
    expect(house.tasks.begun).toEqual([]);
    await house.lookAt("2026-11-22T03:00:00.120Z");
    await house.lookAt("2026-11-22T03:00:30Z");
    expect(house.begunKeys).toEqual(["nightly-20261122T030000Z"]);
    house.tasks.end("nightly-20261122T030000Z", "done", "12 SIMs listed");
    await house.lookAt("2026-11-22T03:01:00Z");
    expect((await house.record()).last).toMatchObject({ result: "done", reason: "12 SIMs listed" });
    expect((await house.record()).firing).toBeUndefined();
    expect((await house.events()).map(({ type, fields }) => [type, fields])).toEqual([
      [
        "schedule.started",
        {
          ...{ schedule: "nightly", firing: "nightly-20261122T030000Z", job: "sync" },
          ...{ due: "2026-11-22T03:00:00.000Z", cause: "nightly-20261122T030000Z" },
        },
      ],
      ["schedule.completed", expect.objectContaining({ seconds: "60", reason: "12 SIMs listed" })],
    ]);
    expect(new Date(await house.look()).toISOString()).toBe("2026-11-23T03:00:00.000Z");
  });

  it("is acted on by one of many processes that see it", async () => {
    const house = new ScheduleHouse(place, "2026-11-22T02:59:00Z", { cron: "0 3 * * *" });
    await house.look();
    house.nowMs = Date.parse("2026-11-22T03:00:00Z");
    await Promise.all(Array.from({ length: 12 }, () => house.look()));
    expect(house.begunKeys).toHaveLength(1);
    expect(await house.told()).toEqual(["schedule.started"]);
  });

  it("says so when there is nothing to do, and when it failed", async () => {
    const house = new ScheduleHouse(place, "2026-11-22T02:30:00Z", hourly);
    await house.look();
    house.tasks.nothing = "no SIM matches the filter";
    await house.lookAt("2026-11-22T03:00:00Z");
    expect((await house.record()).last).toMatchObject({ result: "done", reason: "no SIM matches the filter" });
    house.tasks.nothing = undefined;
    await house.lookAt("2026-11-22T04:00:00Z");
    house.tasks.end("nightly-20261122T040000Z", "failed", "2 of 9 rows rejected");
    await house.lookAt("2026-11-22T04:01:00Z");
    expect(await house.told()).toEqual(["schedule.completed", "schedule.started", "schedule.failed"]);
  });

  it("is tried again when the task cannot be begun, and given up where that is of no use", async () => {
    const house = new ScheduleHouse(place, "2026-11-22T02:30:00Z", hourly);
    await house.look();
    house.tasks.faults.push(new Error("Redis is out of memory"), new Error("Redis is out of memory"));
    let nextMs = await house.lookAt("2026-11-22T03:00:00Z");
    expect((await house.record()).firing).toMatchObject({ tries: 1, fault: "Redis is out of memory" });
    for (let i = 0; i < 2; i += 1) {
      house.nowMs = nextMs;
      nextMs = await house.look();
    }
    expect(house.begunKeys).toEqual(["nightly-20261122T030000Z"]);
    house.tasks.end("nightly-20261122T030000Z");
    await house.lookAt("2026-11-22T03:59:00Z");
    house.tasks.faults.push(new SimfleetError("USAGE", "The inventory has not been read yet"));
    await house.lookAt("2026-11-22T04:00:00Z");
    expect((await house.record()).last).toMatchObject({
      result: "failed",
      reason: "The inventory has not been read yet",
    });
  });

  it("is later by its jitter, by the same amount in every process", async () => {
    const jittered = { ...hourly, jitterMs: 600_000 };
    const house = new ScheduleHouse(place, "2026-11-22T02:30:00Z", jittered);
    const dueMs = Date.parse("2026-11-22T03:00:00Z");
    const laterMs = jitterOf(house.schedule, dueMs);
    expect(await house.look()).toBe(dueMs + laterMs);
    house.nowMs = dueMs + laterMs - 1;
    expect(await house.look()).toBe(dueMs + laterMs);
    expect(house.begunKeys).toEqual([]);
    house.nowMs = dueMs + laterMs;
    await house.look();
    expect(house.begunKeys).toEqual(["nightly-20261122T030000Z"]);
    const amounts = Array.from({ length: 200 }, (_, i) => jitterOf(house.schedule, dueMs + i * 3_600_000));
    expect(Math.max(...amounts)).toBeLessThan(600_000);
    expect(Math.max(...amounts)).toBeGreaterThan(540_000);
    expect(Math.min(...amounts)).toBeLessThan(60_000);
  });
});

describe("times that passed while nobody was there", () => {
  it.each(["once", "skip"] as const)("are handled as `missed: %s` says", async (missed) => {
    const house = new ScheduleHouse(place, "2026-11-22T02:30:00Z", { ...hourly, missed });
    await house.look();
    await house.lookAt("2026-11-22T07:45:00Z");
    const [told] = await house.events();
    expect(told).toMatchObject({
      type: "schedule.missed",
      fields: { times: "5", due: "2026-11-22T03:00:00.000Z", madeUp: missed === "once" ? "yes" : "no" },
    });
    expect(house.begunKeys).toEqual(missed === "once" ? ["nightly-20261122T070000Z"] : []);
    expect(new Date((await house.record()).dueMs ?? 0).toISOString()).toBe("2026-11-22T08:00:00.000Z");
    if (missed === "skip") expect((await house.record()).last).toMatchObject({ result: "missed" });
  });

  it("are told of also when the last one is on time", async () => {
    const house = new ScheduleHouse(place, "2026-11-22T02:30:00Z", { ...hourly, missed: "skip" });
    await house.look();
    await house.lookAt("2026-11-22T05:00:01Z");
    expect(house.begunKeys).toEqual(["nightly-20261122T050000Z"]);
    expect((await house.events())[0]).toMatchObject({ type: "schedule.missed", fields: { times: "2", madeUp: "no" } });
  });

  it("are not gone through one by one after a month of seconds", async () => {
    const house = new ScheduleHouse(place, "2026-10-22T02:30:00Z", { cron: "* * * * * *" });
    await house.look();
    await house.lookAt("2026-11-22T07:45:12.500Z");
    expect(house.begunKeys).toEqual(["nightly-20261122T074512Z"]);
    expect((await house.events())[0]).toMatchObject({ fields: { times: "1000" } });
  });

  it("are forgotten when the schedule was changed meanwhile", async () => {
    const house = new ScheduleHouse(place, "2026-11-22T02:30:00Z", hourly);
    await house.look();
    const later = new ScheduleHouse(place, "2026-11-22T07:45:00Z", { cron: "30 * * * *" });
    house.nowMs = later.nowMs;
    await workOnSchedule(later.schedule, house.context);
    expect(house.begunKeys).toEqual([]);
    expect(new Date((await house.record()).dueMs ?? 0).toISOString()).toBe("2026-11-22T08:30:00.000Z");
  });
});

describe("a time that comes while the one before is under way", () => {
  const begin = async (overlap: "skip" | "queue" | "cancel") => {
    const house = new ScheduleHouse(place, "2026-11-22T02:30:00Z", { ...hourly, overlap, task: change });
    await house.look();
    await house.lookAt("2026-11-22T03:00:00Z");
    await house.lookAt("2026-11-22T04:00:00Z");
    await house.lookAt("2026-11-22T05:00:00Z");
    return house;
  };

  it("is left out", async () => {
    const house = await begin("skip");
    expect(house.begunKeys).toEqual(["nightly-20261122T030000Z"]);
    expect(await house.told()).toEqual(["schedule.started", "schedule.skipped", "schedule.skipped"]);
    expect((await house.events())[1]?.fields.reason).toContain("still under way: run nightly-20261122T030000Z");
  });

  it("waits, the latest alone", async () => {
    const house = await begin("queue");
    expect(house.begunKeys).toHaveLength(1);
    house.tasks.end("nightly-20261122T030000Z");
    await house.lookAt("2026-11-22T05:10:00Z");
    expect(house.begunKeys).toEqual(["nightly-20261122T030000Z", "nightly-20261122T050000Z"]);
    house.tasks.end("nightly-20261122T050000Z");
    await house.lookAt("2026-11-22T05:20:00Z");
    expect((await house.record()).queued).toBeUndefined();
  });

  it("takes its place", async () => {
    const house = await begin("cancel");
    expect(house.tasks.cancelled).toEqual(["nightly-20261122T030000Z", "nightly-20261122T040000Z"]);
    expect(house.begunKeys.at(-1)).toBe("nightly-20261122T050000Z");
    expect((await house.told()).filter((type) => type === "schedule.cancelled")).toHaveLength(2);
  });
});

describe("a time that comes while nothing may change", () => {
  const frozen = { reason: "the freeze year-end", untilMs: Date.parse("2026-11-22T03:20:00Z") };

  it("is left out, or waits for the end; a sync goes on", async () => {
    const skipping = new ScheduleHouse(place, "2026-11-22T02:30:00Z", { ...hourly, task: change });
    const waiting = new ScheduleHouse(place, "2026-11-22T02:30:00Z", { ...hourly, task: change, frozen: "wait" });
    const reading = new ScheduleHouse(place, "2026-11-22T02:30:00Z", hourly);
    for (const house of [skipping, waiting, reading]) {
      await house.look();
      house.freeze = frozen;
      await house.lookAt("2026-11-22T03:00:00Z");
    }
    expect((await skipping.record()).last).toMatchObject({
      result: "skipped",
      reason: "nothing may change: the freeze year-end",
    });
    expect(waiting.begunKeys).toEqual([]);
    expect(reading.begunKeys).toHaveLength(1);
    waiting.freeze = undefined;
    await waiting.lookAt("2026-11-22T03:20:00Z");
    expect(waiting.begunKeys).toEqual(["nightly-20261122T030000Z"]);
  });
});

describe("daylight saving time", () => {
  /** Every time of a schedule between two instants, looked at each minute, by when it began. */
  async function begunBetween(
    from: string,
    to: string,
    written: { cron: string; timezone: string },
  ): Promise<string[]> {
    const house = new ScheduleHouse(place, from, written);
    for (; house.nowMs <= Date.parse(to); house.nowMs += 60_000) {
      await house.look();
      const last = house.begunKeys.at(-1);
      if (last !== undefined) house.tasks.end(last);
    }
    return house.tasks.begun.map(({ atMs }) => new Date(atMs).toISOString().slice(0, 16));
  }

  it("moves a time that it leaves out by an hour, and does one that comes twice once", async () => {
    const nightly = { cron: "30 2 * * *", timezone: "Europe/Berlin" };
    expect(await begunBetween("2026-03-28T00:00:00Z", "2026-03-30T12:00:00Z", nightly)).toEqual([
      ...["2026-03-28T01:30", "2026-03-29T01:30", "2026-03-30T00:30"],
    ]);
    expect(await begunBetween("2026-10-24T00:00:00Z", "2026-10-26T12:00:00Z", nightly)).toEqual([
      ...["2026-10-24T00:30", "2026-10-25T00:30", "2026-10-26T01:30"],
    ]);
  });

  it("leaves what is every half hour at every half hour", async () => {
    const often = { cron: "*/30 * * * *", timezone: "America/New_York" };
    for (const day of ["2026-03-08", "2026-11-01"]) {
      const begun = await begunBetween(`${day}T04:10:00Z`, `${day}T09:00:00Z`, often);
      expect(begun).toEqual(
        Array.from({ length: 10 }, (_, i) =>
          new Date(Date.parse(`${day}T04:30:00Z`) + i * 1_800_000).toISOString().slice(0, 16),
        ),
      );
    }
  });

  it("is not missed where there is none", async () => {
    const tokyo = { cron: "0 8 * * 1-5", timezone: "Asia/Tokyo" };
    // Sunday evening to Tuesday in UTC.
    expect(await begunBetween("2026-11-22T20:00:00Z", "2026-11-24T00:00:00Z", tokyo)).toEqual([
      ...["2026-11-22T23:00", "2026-11-23T23:00"],
    ]);
  });
});

it("loses no time and doubles none, whenever processes die and come back", async () => {
  for (let seed = 1; seed <= 40; seed += 1) {
    const random = seededRandom(seed);
    const house = new ScheduleHouse(place, "2026-11-22T00:00:30Z", { cron: "*/5 * * * *", overlap: "queue" });
    await house.look();
    const ended = new Set<string>();
    while (house.nowMs < Date.parse("2026-11-22T02:00:00Z")) {
      house.nowMs += 1_000 + Math.floor(random() * 40_000);
      // A process that dies has made any number of its moves: a look whose n-th write never comes.
      const dying = random() < 0.5 ? Math.floor(random() * 3) : Number.POSITIVE_INFINITY;
      let moves = 0;
      const log = {
        record: (name: string) => house.log.record(name),
        move: (...args: Parameters<typeof house.log.move>) => {
          moves += 1;
          return moves > dying ? Promise.reject(new Error("died")) : house.log.move(...args);
        },
      } as typeof house.log;
      await workOnSchedule(house.schedule, { ...house.context, log }).catch(() => undefined);
      for (const key of house.begunKeys) {
        if (random() < 0.6) {
          ended.add(key);
          house.tasks.end(key);
        }
      }
    }
    for (let i = 0; i < 4; i += 1) {
      for (const key of house.begunKeys) house.tasks.end(key);
      house.nowMs += 5_000;
      await house.look();
    }
    const times = Array.from({ length: 24 }, (_, i) => new Date(Date.parse("2026-11-22T00:05:00Z") + i * 300_000));
    const wanted = times.map((time) => `nightly-${time.toISOString().replace(/[-:]|\.000/g, "")}`);
    const events = await house.events();
    const started = events.filter(({ type }) => type === "schedule.started").map(({ fields }) => fields.firing);
    expect(new Set(house.begunKeys).size).toBe(house.begunKeys.length);
    expect(started).toEqual(house.begunKeys);
    // What was not begun waited for one before and was overtaken by a later one.
    expect(wanted).toEqual(expect.arrayContaining(house.begunKeys));
    expect(house.begunKeys.at(-1)).toBe(wanted.at(-1));
    // Where nobody was alive for a minute a time was missed, and made up for.
    const missed = events.filter(({ type }) => type === "schedule.missed");
    expect(missed.map(({ fields }) => fields.madeUp)).toEqual(missed.map(() => "yes"));
    expect(events.filter(({ type }) => type === "schedule.completed")).toHaveLength(house.begunKeys.length);
  }
}, 60_000);

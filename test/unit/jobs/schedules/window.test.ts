/** No task of a schedule starts after its window, whatever delays it: outages, deaths, freezes, faults, long tasks. */
import { expect, it } from "vitest";
import { SimfleetError } from "#core/errors.ts";
import { parseCron } from "#fleet/time/cron.ts";
import type { Schedule } from "#jobs/schedules/config.ts";
import type { TaskReference, TaskStatus } from "#fleet/task.ts";
import type { ScheduleLog, ScheduleRecord } from "#jobs/schedules/record.ts";
import { jitterOf, passedTimes, workOnSchedule } from "#jobs/schedules/work.ts";
import type { Tasks } from "#jobs/tasks/tasks.ts";
import { seededRandom } from "#sandbox/seeded.ts";
import { seeds } from "../../../support/long.ts";
import { noGuard } from "../../../support/no-guard.ts";

const minuteMs = 60_000;
const beginMs = Date.parse("2026-11-22T00:00:30Z");

/** A schedule whose clock, record and tasks are in memory. */
class World {
  nowMs = beginMs;
  isFrozen = false;
  isFaulty = false;
  /** Writes that the process makes before it dies. */
  writesLeft = Number.POSITIVE_INFINITY;
  record: ScheduleRecord = { profile: "default" };
  /** When each task was started, and when it ends, by its key. */
  readonly begun = new Map<string, { readonly atMs: number; readonly endMs: number }>();
  /** Times reported as missed and not made up for. */
  missed = 0;
  taskMs = 0;
  readonly schedule: Schedule;

  constructor(schedule: Partial<Schedule>) {
    this.schedule = {
      name: "often",
      profile: "default",
      cron: parseCron("*/20 * * * *", "UTC"),
      task: { job: "rotate", profile: "default", rotation: "mqtt" },
      jitterMs: 0,
      overlap: "queue",
      missed: { within: "15m", withinMs: 15 * minuteMs },
      frozen: "wait",
      pauseAfterFailures: undefined,
      ...schedule,
    };
  }

  async poll(): Promise<void> {
    const clock = { wallMs: () => this.nowMs, monotonicMs: () => this.nowMs, sleep: () => Promise.resolve() };
    const of = () => Promise.resolve(this.isFrozen ? { reason: "a test", untilMs: undefined } : undefined);
    const context = { log: this.#log(), clock, tasks: this.#tasks(), guard: noGuard, freezes: { of } as never };
    await workOnSchedule(this.schedule, context, new AbortController().signal).catch((thrown: unknown) => {
      if (!(thrown instanceof Error) || thrown.message !== "died") throw thrown;
    });
    this.writesLeft = Number.POSITIVE_INFINITY;
  }

  #log(): ScheduleLog {
    return {
      record: () => Promise.resolve(this.record),
      move: (_name: string, of: ScheduleRecord, change: object, { events = [] }: { events?: readonly MoveEvent[] }) => {
        if ((this.writesLeft -= 1) < 0) return Promise.reject(new Error("died"));
        if (of.revision !== this.record.revision) return Promise.resolve("stale");
        this.record = { ...this.record, ...change, revision: (of.revision ?? 0) + 1 };
        for (const { type, fields } of events) {
          if (type === "schedule.missed") this.missed += Number(fields["times"]) - (fields["madeUp"] === "yes" ? 1 : 0);
        }
        return Promise.resolve(this.record);
      },
    } as unknown as ScheduleLog;
  }

  #tasks(): Tasks {
    return {
      begin: (_, { key }): Promise<TaskReference> => {
        if (this.isFaulty) return Promise.reject(new SimfleetError("STORE_UNAVAILABLE", "no answer"));
        if (!this.begun.has(key)) this.begun.set(key, { atMs: this.nowMs, endMs: this.nowMs + this.taskMs });
        return Promise.resolve({ kind: "rotation", id: key });
      },
      begunBefore: (_, { key }) => Promise.resolve(this.begun.has(key) ? { kind: "rotation", id: key } : undefined),
      status: (_, { id }): Promise<TaskStatus> =>
        Promise.resolve(
          (this.begun.get(id)?.endMs ?? 0) <= this.nowMs
            ? { isOver: true, result: "done", reason: undefined }
            : { isOver: false },
        ),
      cancel: () => Promise.resolve(),
    };
  }

  /** Whether a poll now finds a time that is due and can still start. */
  get isInTime(): boolean {
    const dueMs = this.record.dueMs ?? 0;
    const { latestMs } = passedTimes(this.schedule, dueMs, this.nowMs);
    const lateMs = this.nowMs - latestMs - jitterOf(this.schedule, latestMs);
    return dueMs <= this.nowMs && lateMs >= 0 && lateMs <= 15 * minuteMs;
  }

  /** Times that have passed. */
  get times(): number {
    return Math.floor((this.nowMs - beginMs + minuteMs / 2) / (20 * minuteMs));
  }

  /** Sets at random what goes wrong at the next poll. */
  disturb(random: () => number): void {
    this.isFrozen = random() < 0.2;
    this.isFaulty = random() < 0.2;
    this.taskMs = random() < 0.3 ? Math.floor(random() * 60 * minuteMs) : 0;
    this.writesLeft = random() < 0.4 ? Math.floor(random() * 4) : Number.POSITIVE_INFINITY;
  }

  /** How late tasks started, in ms after their times and jitter. */
  lateness(): number[] {
    return [...this.begun].map(([key, { atMs }]) => {
      const [, date = "", time = ""] = /-(\d{8})T(\d{6})Z$/.exec(key) ?? [];
      const dueMs = Date.parse(`${date.replace(/(....)(..)/, "$1-$2-")}T${time.replace(/(..)(..)/, "$1:$2:")}Z`);
      return atMs - dueMs - jitterOf(this.schedule, dueMs);
    });
  }
}

interface MoveEvent {
  readonly type: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** No task started before its time and jitter, or more than the window after it. */
function expectInWindow(world: World): void {
  const lateness = world.lateness();
  expect(Math.max(...lateness)).toBeLessThanOrEqual(15 * minuteMs);
  expect(Math.min(...lateness)).toBeGreaterThanOrEqual(0);
}

const outages = seeds(1_000, 100_000);

it("no task starts later than its window in simulated outages, and none that can start in time is skipped", async () => {
  const random = seededRandom(1);
  const world = new World({ jitterMs: 5 * minuteMs });
  await world.poll();
  for (let outage = 0; outage < outages; outage += 1) {
    world.nowMs += Math.floor(random() ** 2 * 80 * minuteMs);
    const expected = world.begun.size + (world.isInTime ? 1 : 0);
    await world.poll();
    if (world.begun.size !== expected) expect.fail(`outage ${outage}: ${world.begun.size} tasks, not ${expected}`);
  }
  expectInWindow(world);
  // Each time was started or reported as missed; the last may still wait for its jitter.
  expect([world.times, world.times - 1]).toContain(world.begun.size + world.missed);
  expect(world.missed).toBeGreaterThan(outages / 10);
}, 600_000);

it("no task starts later than its window when deaths, freezes, faults and long tasks come together", async () => {
  const random = seededRandom(2);
  const world = new World({ jitterMs: minuteMs });
  for (let outage = 0; outage < outages; outage += 1) {
    world.disturb(random);
    world.nowMs += Math.floor(random() ** 3 * 40 * minuteMs);
    await world.poll();
  }
  expectInWindow(world);
  expect(Math.max(...world.lateness())).toBeGreaterThan(14 * minuteMs);
  expect(world.begun.size).toBeGreaterThan(outages / 10);
  expect(world.missed).toBeGreaterThan(outages / 100);
}, 600_000);

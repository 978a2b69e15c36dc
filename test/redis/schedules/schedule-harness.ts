/** A schedule with a clock that the test moves, and tasks that end when the test says so. */
import type { Redis } from "ioredis";
import type { Clock } from "#core/time.ts";
import type { Event } from "#events/event.ts";
import { beforeAll, Feed } from "#events/feed.ts";
import { parseCron } from "#fleet/time/cron.ts";
import type { Freeze } from "#fleet/freeze.ts";
import type { Schedule } from "#jobs/schedules/config.ts";
import type { Task, TaskReference, TaskResult, TaskStatus } from "#fleet/task.ts";
import { type ScheduleContext, workOnSchedule } from "#jobs/schedules/work.ts";
import { runIdFor } from "#jobs/runs/submit.ts";
import type { Tasks } from "#jobs/tasks/tasks.ts";
import type { Keys } from "#redis/keys.ts";
import { type ScheduleLog, type ScheduleRecord, scheduleLog } from "#jobs/schedules/record.ts";
import type { StoreDeps } from "#engine/move-record.ts";
import { keysWithin } from "../../support/redis.ts";
import type { Around } from "../engine/crashes.ts";
import { keptBounds } from "../ledger/run-of.ts";
import { noGuard } from "../../support/no-guard.ts";

const sync: Task = { job: "sync", profile: "default" };
export const change: Task = {
  job: "apply",
  profile: "default",
  from: { file: "sims.csv" },
  operation: "set-speed-class",
  set: {},
  options: {
    partial: false,
    skipUnchanged: false,
  },
};

/** Work that was started, by the ID that its run would have: starting it twice under one ID starts it once. */
class HeldTasks implements Tasks {
  readonly begun: { readonly key: string; readonly runId: string; readonly atMs: number }[] = [];
  readonly cancelled: string[] = [];
  /** What the next beginnings throw. */
  readonly faults: Error[] = [];
  /** Set: there is nothing to do. */
  nothing: string | undefined;
  readonly #ends = new Map<string, { result: TaskResult; reason?: string }>();
  readonly #nowMs: () => number;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  begin(_: Task, { key, dueMs }: { key: string; dueMs: number }): Promise<TaskReference | string> {
    const fault = this.faults.shift();
    if (fault !== undefined) return Promise.reject(fault);
    if (this.nothing !== undefined) return Promise.resolve(this.nothing);
    const runId = runIdFor(key, dueMs);
    if (!this.begun.some((one) => one.runId === runId)) this.begun.push({ key, runId, atMs: this.#nowMs() });
    return Promise.resolve({ kind: "run", id: key });
  }

  begunBefore(_: Task, { key }: { key: string }): Promise<TaskReference | undefined> {
    return Promise.resolve(this.begun.some((one) => one.key === key) ? { kind: "run", id: key } : undefined);
  }

  status(_: Task, { id }: TaskReference): Promise<TaskStatus> {
    const end = this.#ends.get(id);
    return Promise.resolve(
      end === undefined ? { isOver: false } : { isOver: true, result: end.result, reason: end.reason },
    );
  }

  cancel({ id }: TaskReference, { reason }: { reason: string }): Promise<void> {
    this.cancelled.push(id);
    this.#ends.set(id, { result: "cancelled", reason });
    return Promise.resolve();
  }

  end(key: string, result: TaskResult = "done", reason?: string): void {
    this.#ends.set(key, { result, ...(reason === undefined ? {} : { reason }) });
  }
}

export class ScheduleDeps {
  nowMs: number;
  freeze: Freeze | undefined;
  readonly tasks = new HeldTasks(() => this.nowMs);
  readonly log: ScheduleLog;
  readonly feed: Feed;
  readonly #collaborators: StoreDeps;
  readonly context: ScheduleContext;
  schedule: Schedule;

  constructor(
    place: { redis: Redis; keys: Keys },
    at: string,
    written: Partial<Omit<Schedule, "cron">> & { cron: string; timezone?: string },
  ) {
    this.nowMs = Date.parse(at);
    const clock: Clock = {
      wallMs: () => this.nowMs,
      monotonicMs: () => this.nowMs,
      sleep: () => Promise.resolve(),
    };
    const { cron, timezone = "UTC", ...rest } = written;
    const name = rest.name ?? "nightly";
    const keys = keysWithin(place.keys);
    const collaborators = { redis: place.redis, keys, bounds: keptBounds };
    this.#collaborators = collaborators;
    this.log = scheduleLog(collaborators);
    this.feed = new Feed({ ...collaborators, clock });
    this.schedule = {
      name,
      profile: "default",
      task: sync,
      jitterMs: 0,
      overlap: "skip",
      missed: "once",
      frozen: "skip",
      pauseAfterFailures: undefined,
      ...rest,
      cron: parseCron(cron, timezone),
    };
    this.context = {
      log: this.log,
      clock,
      tasks: this.tasks,
      guard: noGuard,
      freezes: { of: () => Promise.resolve(this.freeze) },
    };
  }

  /** Polls once. @returns when to poll again; never while there is nothing to wait for */
  async poll(context = this.context): Promise<number> {
    const result = await workOnSchedule(this.schedule, context, new AbortController().signal);
    return result.kind === "postponed" ? this.nowMs + result.delayMs : Number.POSITIVE_INFINITY;
  }

  /** A process that polls the same schedule. @param around wraps what it uses */
  process(around: Around): { readonly poll: () => Promise<number> } {
    const log = scheduleLog({ ...this.#collaborators, redis: around("redis", this.#collaborators.redis) });
    return { poll: () => this.poll({ ...this.context, log, tasks: around("tasks", this.tasks) }) };
  }

  async lookAt(instant: string): Promise<number> {
    this.nowMs = Date.parse(instant);
    return this.poll();
  }

  /** @returns brings the record back to what it is now, as a crash of Redis does that loses the last writes */
  async keepRecord(): Promise<() => Promise<unknown>> {
    const { redis, keys } = this.#collaborators;
    const key = keys.of("schedule", this.schedule.name);
    const kept = await redis.dumpBuffer(key);
    return () => redis.restore(key, 0, kept ?? "", "REPLACE");
  }

  record(): Promise<ScheduleRecord> {
    return this.log.record(this.schedule);
  }

  async events(): Promise<Event[]> {
    return [...(await this.feed.after(beforeAll, 10_000)).events];
  }

  async reported(): Promise<string[]> {
    return (await this.events()).map(({ type }) => type);
  }

  get begunKeys(): string[] {
    return this.tasks.begun.map(({ key }) => key);
  }
}

/**
 * The timers of the schedules: BullMQ's job schedulers wake one process at each time. Every process also polls now and then,
 * so that a time whose job was lost is late by seconds instead of missed. What a poll does is up to the caller: it depends
 * only on the record, and concurrent polls do no harm.
 */
import type { Queue } from "bullmq";
import { messageOf } from "#core/errors.ts";
import { type Clock, every, secondMs } from "#core/time.ts";
import { parseCron } from "#fleet/time/cron.ts";
import type { Schedule } from "#fleet/schedule.ts";
import type { Incident, Working } from "#engine/queue/job-result.ts";
import { type QueueDeps, workQueues } from "#engine/queue/work-queues.ts";

interface ScheduleReference {
  readonly schedule: string;
}

export interface ScheduleDeps {
  readonly schedules: readonly Schedule[];
  /**
   * Advances a schedule as far as possible.
   * @param signal aborts when this process stops
   * @returns when to poll it again, ms since the epoch
   */
  readonly poll: (schedule: Schedule, signal: AbortSignal) => Promise<number>;
  /** Called when a time has come for which BullMQ woke no process. */
  readonly onLate: (schedule: Schedule, dueMs: number) => Promise<void>;
  readonly onIncident: (incident: Incident) => void;
}

const queueName = "schedules";
const tickMs = 500;
/** Longest interval between two polls of a schedule, and between two comparisons of BullMQ's schedulers with the configuration. */
const fullCheckMs = 10 * secondMs;
const lateMs = 30 * secondMs;
const jobs = { fire: "fire", poll: "poll" } as const;

/** Called by BullMQ for the next time; uses the same cron parser as the rest of simfleet. */
function nextTime(
  afterMs: number,
  { pattern = "", tz = "UTC" }: { pattern?: string; tz?: string },
): number | undefined {
  return parseCron(pattern, tz).next(afterMs);
}

export type ScheduleQueue = ReturnType<typeof scheduleQueue>;

export function scheduleQueue(deps: QueueDeps) {
  const queues = workQueues<ScheduleReference>(
    { connection: queueName, nameOf: () => queueName, queueOptions: { settings: { repeatStrategy: nextTime } } },
    deps,
  );

  /** Makes some process poll a schedule at once. */
  const wake = async (schedule: string): Promise<void> => {
    await (await queues.queue(queueName)).add(jobs.poll, { schedule });
  };

  /** Whether a live process handles schedules. */
  const isServed = (): Promise<boolean> => queues.isServed(queueName);

  /** Processes the schedules until stopped; removes the BullMQ schedulers of schedules that are no longer configured. */
  const consume = async (work: ScheduleDeps): Promise<Working> => {
    const clock = new ScheduleClock(await queues.queue(queueName), work, deps.clock);
    await clock.set();
    if (work.schedules.length === 0) return onlyCleaning(clock);
    const byName = new Map(work.schedules.map((schedule) => [schedule.name, schedule]));
    const working = await queues.consume(queueName, {
      atOnce: 8,
      repeatStrategy: nextTime,
      work: async ({ schedule: name }) => {
        const schedule = byName.get(name);
        if (schedule !== undefined) await clock.poll(schedule);
        return { kind: "ended" };
      },
      restore: () => clock.tick(),
      restoreEveryMs: tickMs,
      onIncident: ({ message }) => work.onIncident({ message }),
    });
    return {
      isMoving: (withinMs) => working.isMoving(withinMs),
      restart: () => working.restart(),
      stop: async () => {
        clock.stop();
        await working.stop();
        await clock.settled();
      },
    };
  };

  return { wake, isServed, consume, close: queues.close };
}

/** Without schedules no job has to be taken; the schedulers that a worker of an older configuration sets again are removed. */
function onlyCleaning(clock: ScheduleClock): Working {
  const stopTicking = every(secondMs, () => clock.tick());
  return {
    isMoving: () => Promise.resolve(true),
    restart: () => Promise.resolve(),
    stop: () => {
      stopTicking();
      clock.stop();
      return clock.settled();
    },
  };
}

/** The timers of one process: when it polls each schedule, and whether BullMQ's schedulers match the configuration. */
class ScheduleClock {
  readonly #queue: Queue<ScheduleReference>;
  readonly #deps: ScheduleDeps;
  readonly #clock: Clock;
  readonly #nextPollMs = new Map<string, number>();
  readonly #polling = new Map<string, Promise<void>>();
  readonly #stopping = new AbortController();
  #nextSetMs = 0;
  #setting: Promise<void> | undefined;

  constructor(queue: Queue<ScheduleReference>, deps: ScheduleDeps, clock: Clock) {
    this.#queue = queue;
    this.#deps = deps;
    this.#clock = clock;
  }

  /** Polls what is due, and checks BullMQ's schedulers now and then. */
  tick(): void {
    const nowMs = this.#clock.wallMs();
    if (nowMs >= this.#nextSetMs && this.#setting === undefined) {
      this.#setting = this.set()
        .catch((thrown: unknown) => this.#deps.onIncident({ message: `the clock of schedules: ${messageOf(thrown)}` }))
        .finally(() => (this.#setting = undefined));
    }
    for (const schedule of this.#deps.schedules) {
      if ((this.#nextPollMs.get(schedule.name) ?? 0) <= nowMs) void this.poll(schedule);
    }
  }

  /** Runs one poll at a time; a failed poll is reported and repeated. */
  poll(schedule: Schedule): Promise<void> {
    const present = this.#polling.get(schedule.name);
    if (present !== undefined) return present;
    const polling = this.#pollNow(schedule).finally(() => this.#polling.delete(schedule.name));
    this.#polling.set(schedule.name, polling);
    return polling;
  }

  async #pollNow(schedule: Schedule): Promise<void> {
    const { name } = schedule;
    const latestMs = (): number => this.#clock.wallMs() + fullCheckMs;
    try {
      this.#nextPollMs.set(name, Math.min(await this.#deps.poll(schedule, this.#stopping.signal), latestMs()));
    } catch (thrown) {
      this.#nextPollMs.set(name, latestMs());
      this.#deps.onIncident({ message: `the schedule ${name} is tried again: ${messageOf(thrown)}` });
    }
  }

  /** Ends polls in progress before their next step. */
  stop(): void {
    this.#stopping.abort(new Error("this process is stopping"));
  }

  /** Resolves when no poll is in progress. */
  async settled(): Promise<void> {
    await Promise.allSettled([...this.#polling.values(), this.#setting]);
  }

  /** Updates BullMQ's schedulers to match the configuration. */
  async set(): Promise<void> {
    const nowMs = this.#clock.wallMs();
    this.#nextSetMs = nowMs + fullCheckMs;
    const present = new Map((await this.#queue.getJobSchedulers()).map((one) => [one.key, one]));
    for (const schedule of this.#deps.schedules) {
      const { name, cron } = schedule;
      const found = present.get(name);
      present.delete(name);
      const isRight = found?.pattern === cron.text && found.tz === cron.timezone;
      const next = found?.next ?? nowMs;
      if (isRight && next > nowMs - lateMs) continue;
      if (isRight) await this.#deps.onLate(schedule, next);
      const opts = { removeOnFail: true };
      const repeat = { pattern: cron.text, tz: cron.timezone };
      await this.#queue.upsertJobScheduler(name, repeat, { name: jobs.fire, data: { schedule: name }, opts });
    }
    for (const name of present.keys()) await this.#queue.removeJobScheduler(name);
  }
}

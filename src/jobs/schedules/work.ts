/**
 * Processes one schedule: checks whether its time has come, starts its task, and follows the task to its end. Every
 * move depends only on the record and is made by one process (record.ts), so it does not matter which process polls,
 * how often, or how the previous one ended. A task is started under the execution's id: starting it again after a crash
 * returns the task that was started before. The states follow from the record and the time, so none is stored:
 *   any       -> starting | queued   its time has come (`due`), as the overlap policy says
 *   idle      -> queued              a user asks for an execution, which waits for one in progress
 *   queued    -> starting            the previous execution has ended
 *   starting  -> running             the id of the started task is known
 *   starting | running -> idle       the task has ended, cannot be started, or its window has passed
 *   starting | running -> idle, paused  so many failures in a row pause the schedule
 *   any       -> idle, paused        three workers have died there
 */
import { hash, randomBytes } from "node:crypto";
import { clockToleranceMs, isoTime, minuteMs, secondMs } from "#core/time.ts";
import type { FaultRules } from "#engine/fault-policy.ts";
import type { MoveEvent } from "#engine/move-record.ts";
import type { Incident, WorkResult, Working } from "#engine/queue/job-result.ts";
import type { NamedJobs, WorkStatus } from "#engine/queue/named-jobs.ts";
import { MovedByAnother, type StepResult, type Steps, again, move, runSteps, wait } from "#engine/steps.ts";
import type { Kernel } from "#kernel/kernel.ts";
import type { Schedule } from "./config.ts";
import { type Task, type TaskReference, changesPlatform } from "#fleet/task.ts";
import type { Tasks } from "#jobs/tasks/tasks.ts";
import type { EndedExecution, Execution, ScheduleChange, ScheduleLog, ScheduleRecord, Stretch } from "./record.ts";
import type { Cron } from "#fleet/time/cron.ts";

export interface ScheduleContext extends Pick<Kernel, "clock" | "guard"> {
  readonly log: ScheduleLog;
  readonly tasks: Tasks;
  readonly freezes: Pick<Kernel["freezes"], "of">;
}

interface Poll {
  readonly schedule: Schedule;
  readonly record: ScheduleRecord;
  readonly context: ScheduleContext;
  readonly nowMs: number;
}

/** Tasks that are over when they have begun, so that no work is found under the id of their execution. */
const unrecorded: ReadonlySet<Task["job"]> = new Set(["usage", "report"]);

/** A paused schedule without a task has no step. */
type ScheduleState = "due" | "queued" | "starting" | "running" | "idle";
type ScheduleResult = StepResult<ScheduleChange>;

/** Pause between two polls of a task, or of a freeze. */
const pollIntervalMs = secondMs;
const startPauses = { baseMs: 5 * secondMs, capMs: 5 * minuteMs };
/** With this backoff the attempts to start a task take about a quarter of an hour. */
const startRules: FaultRules = {
  hopeless: "give-up",
  other: { delay: startPauses, countsTry: true, maxTries: 8 },
};

const steps: Steps<ScheduleState, Poll, ScheduleChange> = {
  due: passTime,
  queued: ({ record: { queued }, nowMs }) =>
    move({ queued: undefined, execution: queued && { ...queued, startedAtMs: nowMs } }),
  starting: start,
  running: follow,
  idle: (poll) => waitUntil(Number.POSITIVE_INFINITY, poll),
};

/**
 * Advances a schedule as far as possible.
 * @param signal aborts when this process stops, or has lost the job
 * @returns how long it waits; `ended` while it is paused
 * @throws errors of the store
 */
export function workOnSchedule(schedule: Schedule, context: ScheduleContext, signal: AbortSignal): Promise<WorkResult> {
  const { log, clock } = context;
  const save = async ({ record }: Poll, change: ScheduleChange, events: readonly MoveEvent[]): Promise<void> => {
    if ((await log.move(schedule.name, record, change, { events })) === "stale") throw new MovedByAnother();
  };
  return runSteps<Poll, ScheduleChange>(
    {
      open: async () => ({ schedule, context, record: await log.record(schedule), nowMs: clock.wallMs() }),
      clock,
      stateOf,
      steps,
      save,
      saveWait: async (poll, { isProblem = false, tries = 0, delayMs, reason }) => {
        const { execution } = poll.record;
        if (!isProblem || execution === undefined) return;
        await save(poll, { execution: { ...execution, tries, retryAtMs: poll.nowMs + delayMs, fault: reason } }, []);
      },
      saveGivingUp: async (poll, reason) => {
        const { execution } = poll.record;
        if (execution === undefined) return;
        const { change, events } = ended(poll, execution, { result: "failed", reason });
        await save(poll, change, events);
      },
      guard: context.guard,
      pointOf: (poll) => pointOf(poll, stateOf(poll)),
      saveQuarantined: async (poll, reason) => {
        const { record, nowMs } = poll;
        const dueMs = record.dueMs ?? nowMs;
        const execution = record.execution ?? { id: executionId(schedule.name, dueMs), dueMs, startedAtMs: nowMs };
        const { change, events } = ended(poll, execution, { result: "failed", reason, pauses: reason });
        await save(poll, { ...change, queued: undefined }, events);
      },
      faultRules: (poll) => ({
        rules: stateOf(poll) === "starting" ? startRules : {},
        tries: poll.record.execution?.tries ?? 0,
      }),
    },
    signal,
  );
}

/** Whether a schedule has work now. Its job may wait for a later time than the record says, where Redis lost writes. */
async function statusOfSchedule(schedule: Schedule, context: ScheduleContext): Promise<WorkStatus> {
  const record = await context.log.record(schedule);
  const nowMs = context.clock.wallMs();
  const state = stateOf({ schedule, context, record, nowMs });
  if (state === "paused") return "none";
  const isToRetry = state === "starting" && (record.execution?.retryAtMs ?? 0) > nowMs;
  return state === "idle" || isToRetry ? "waiting" : "due";
}

function stateOf(poll: Poll): ScheduleState | "paused" {
  const { execution, queued, paused } = poll.record;
  if (dueAtMs(poll) <= poll.nowMs) return "due";
  if (execution !== undefined) return execution.ref === undefined ? "starting" : "running";
  if (queued !== undefined) return "queued";
  return paused === undefined ? "idle" : "paused";
}

function pointOf({ schedule, record }: Poll, state: ReturnType<typeof stateOf>): string | undefined {
  if (state === "idle") return undefined;
  const { execution, queued, dueMs } = record;
  return `schedule ${schedule.name} ${execution?.id ?? queued?.id ?? dueMs ?? ""} ${state}`;
}

/**
 * When the schedule's time is to be handled: at once if it is unknown or was set by a clock that was ahead, never while
 * the schedule is paused.
 */
function dueAtMs({ schedule, record: { dueMs, paused, pattern, setAtMs = 0 }, nowMs }: Poll): number {
  if (paused !== undefined) return dueMs === undefined ? Number.POSITIVE_INFINITY : 0;
  if (dueMs === undefined || pattern !== patternOf(schedule) || isAhead(setAtMs, nowMs)) return 0;
  const latestMs = dueMs > nowMs ? dueMs : passedTimes(schedule, dueMs, nowMs).latestMs;
  return latestMs + jitterOf(schedule, latestMs);
}

/** Whether a time was noted by a clock that was ahead of this one. */
function isAhead(notedAtMs: number, nowMs: number): boolean {
  return notedAtMs > nowMs + clockToleranceMs;
}

function patternOf({ cron }: Schedule): string {
  return `${cron.text} ${cron.timezone}`;
}

/** Waits until a time, at most until the schedule's next one. */
function waitUntil(atMs: number, poll: Poll): ScheduleResult {
  return wait({ delayMs: Math.min(atMs, dueAtMs(poll)) - poll.nowMs, reason: "the next poll" });
}

/** Handles the schedule's time, which has come or is not known yet. */
function passTime(poll: Poll): ScheduleResult {
  const { schedule, record, nowMs } = poll;
  const { dueMs, paused } = record;
  if (paused !== undefined) return move({ dueMs: undefined });
  const pattern = patternOf(schedule);
  const known = { pattern, dueMs: schedule.cron.next(nowMs), setAtMs: nowMs };
  const { actedOn = [], setAtMs = 0 } = record;
  if (dueMs === undefined || record.pattern !== pattern || isAhead(setAtMs, nowMs)) return move(known);
  const { latestMs, count, isMissed, isInTime } = passedTimes(schedule, dueMs, nowMs);
  // It was acted on, maybe by a process whose clock was ahead.
  if (actedOn.some(([fromMs, untilMs]) => fromMs <= latestMs && latestMs <= untilMs)) return move(known);
  const next = { ...known, actedOn: withTime(schedule, actedOn, latestMs) };
  const left = isMissed || count === maxCounted ? count : count - 1;
  const reason = "no worker was running";
  const madeUp = isMissed && isInTime ? "yes" : "no";
  const missed = left > 0 ? [missedEvent(schedule, dueMs, { times: left, madeUp, reason })] : [];
  const execution = { id: executionId(schedule.name, latestMs), dueMs: latestMs, startedAtMs: nowMs };
  if (!isInTime)
    return move({ ...next, last: { ...execution, finishedAtMs: nowMs, result: "missed", reason } }, ...missed);
  const present = record.execution;
  if (present === undefined) return move({ ...next, execution }, ...missed);
  // A task to be cancelled is cancelled on the next poll.
  if (schedule.overlap !== "skip") return move({ ...next, queued: execution }, ...missed);
  const what = present.ref === undefined ? present.id : `${present.ref.kind} ${present.ref.id}`;
  const why = `the previous task is still in progress: ${what}`;
  return move(next, ...missed, executionEvent(schedule, "schedule.skipped", execution, { reason: why }));
}

async function start(poll: Poll): Promise<ScheduleResult> {
  const { schedule, context, nowMs } = poll;
  const { task, profile, name } = schedule;
  const { execution } = poll.record;
  if (execution === undefined) return again;
  const isAlone = unrecorded.has(task.job);
  const known = isAlone ? await context.log.readAlone(name, execution.id) : undefined;
  if (known !== undefined) return afterBegin(poll, execution, known);
  const endMs = execution.by === undefined ? windowEndMs(schedule, execution.dueMs) : Number.POSITIVE_INFINITY;
  const isLate = (): boolean => context.clock.wallMs() > endMs;
  const { id: key, dueMs, startedAtMs: sinceMs } = execution;
  const beginning = { key, by: `schedule:${name}`, dueMs, sinceMs, isLate };
  if (isLate()) {
    // Another process may still be starting it by its own clock, or have started it in time and died.
    const surelyMs = endMs + clockToleranceMs;
    if (nowMs <= surelyMs) return waitUntil(surelyMs + 1, poll);
    if ((await context.tasks.begunBefore(task, beginning)) === undefined) {
      const { fault } = execution;
      const reason = `it could not start until ${isoTime(endMs)}${fault === undefined ? "" : `: ${fault}`}`;
      return ended(poll, execution, { result: fault === undefined ? "missed" : "failed", reason });
    }
  }
  // A longer wait was noted by a clock that was ahead.
  const waitMs = (execution.retryAtMs ?? 0) - nowMs;
  if (waitMs > 0 && waitMs <= startPauses.capMs) return waitUntil(nowMs + waitMs, poll);
  const freeze = changesPlatform(task) ? await context.freezes.of(profile) : undefined;
  if (freeze !== undefined) {
    const untilMs = Math.min(freeze.untilMs ?? Number.POSITIVE_INFINITY, nowMs + pollIntervalMs);
    if (schedule.frozen === "wait") return waitUntil(untilMs, poll);
    return ended(poll, execution, { result: "skipped", reason: `changes are frozen: ${freeze.reason}` });
  }
  const begin = async () => context.tasks.begin(task, beginning);
  const done = isAlone ? await context.log.doAlone(name, execution.id, begin) : { begun: await begin() };
  return afterBegin(poll, execution, done);
}

/** @param done without `begun` while another process is at work on the task */
function afterBegin(poll: Poll, execution: Execution, { begun }: { begun?: TaskReference | string }): ScheduleResult {
  const nowMs = poll.context.clock.wallMs();
  if (begun === undefined) return waitUntil(nowMs + pollIntervalMs, poll);
  if (typeof begun === "string") return ended({ ...poll, nowMs }, execution, { result: "done", reason: begun });
  const started = { ...execution, ref: begun };
  return move({ execution: started }, executionEvent(poll.schedule, "schedule.started", started, { by: execution.by }));
}

async function follow(poll: Poll): Promise<ScheduleResult> {
  const { task, overlap, name } = poll.schedule;
  const { tasks } = poll.context;
  const { queued, execution } = poll.record;
  if (execution?.ref === undefined) return again;
  let status = await tasks.status(task, execution.ref);
  if (!status.isOver && queued !== undefined && overlap === "cancel" && queued.by === undefined) {
    await tasks.cancel(execution.ref, { by: `schedule:${name}`, reason: "the schedule is due again" });
    status = await tasks.status(task, execution.ref);
  }
  return status.isOver ? ended(poll, execution, status) : waitUntil(poll.nowMs + pollIntervalMs, poll);
}

interface ExecutionEnd {
  readonly result: EndedExecution["result"];
  readonly reason: string | undefined;
  /** Why it pauses the schedule, whatever the settings say. */
  readonly pauses?: string;
}

const endEvents = {
  done: "schedule.completed",
  failed: "schedule.failed",
  cancelled: "schedule.cancelled",
  skipped: "schedule.skipped",
} as const;

function ended(poll: Poll, execution: Execution, how: ExecutionEnd) {
  const { schedule, nowMs } = poll;
  const { result, reason } = how;
  const seconds = result === "done" ? Math.max(0, Math.round((nowMs - execution.startedAtMs) / secondMs)) : undefined;
  const last = { ...execution, finishedAtMs: nowMs, result, ...(reason === undefined ? {} : { reason }) };
  const event =
    result === "missed"
      ? missedEvent(schedule, execution.dueMs, { times: 1, madeUp: "no", reason })
      : executionEvent(schedule, endEvents[result], execution, { reason, seconds });
  const { change, events } = incidentAfter(poll, execution, how);
  return { kind: "move", change: { execution: undefined, last, ...change }, events: [event, ...events] } as const;
}

/** The first failure starts an incident, and a success ends it. What was not run, or cancelled, changes nothing. */
function incidentAfter(
  { schedule, record, nowMs }: Poll,
  execution: Execution,
  { result, reason, pauses }: ExecutionEnd,
) {
  const { failures: before = 0, failingSinceMs, paused, queued } = record;
  const events: MoveEvent[] = [];
  let change: ScheduleChange = {};
  if (result === "done") {
    change = { failures: undefined, failingSinceMs: undefined };
    if (failingSinceMs !== undefined) {
      const since = new Date(failingSinceMs).toISOString();
      events.push(executionEvent(schedule, "schedule.recovered", execution, { since }));
    }
  } else if (result === "failed") {
    const failures = before + 1;
    const isOneTooMany = paused === undefined && failures >= (schedule.pauseAfterFailures ?? Number.POSITIVE_INFINITY);
    const because =
      pauses ?? (isOneTooMany ? `it failed ${failures} times in a row, at last: ${reason ?? ""}` : undefined);
    change = { failures, failingSinceMs: failingSinceMs ?? nowMs };
    if (failingSinceMs === undefined) {
      events.push(executionEvent(schedule, "schedule.failing", execution, { reason }));
    }
    if (because !== undefined) {
      const by = "simfleet";
      events.push({ type: "schedule.paused", fields: { by, reason: because } });
      // What a user has asked for still runs.
      const left = queued?.by === undefined ? { queued: undefined } : {};
      change = { ...change, ...left, dueMs: undefined, paused: { by, atMs: nowMs, reason: because } };
    }
  }
  return { change, events };
}

function executionEvent({ task }: Schedule, type: MoveEvent["type"], execution: Execution, more: MoveEvent["fields"]) {
  const due = new Date(execution.dueMs).toISOString();
  return { type, fields: { execution: execution.id, job: task.job, due, cause: execution.ref?.id, ...more } };
}

function missedEvent({ task }: Schedule, dueMs: number, more: MoveEvent["fields"]): MoveEvent {
  return { type: "schedule.missed", fields: { job: task.job, due: new Date(dueMs).toISOString(), ...more } };
}

// The jobs of schedules: one each, which waits until the schedule is due, or looks at its task every second.

/** Name under which processes with schedules are registered, with what identifies their tasks. */
const tasksOfWorkers = "schedule-tasks";

interface ScheduleWorkDeps extends Pick<Kernel, "workerRegistry" | "lifecycle"> {
  readonly config: Pick<Kernel["config"], "tasksHash">;
  readonly onIncident: (incident: Incident) => void;
}

/** Runs schedules until stopped. Of workers with different tasks, only those with the newest act. */
export async function consumeSchedules(
  context: ScheduleContext & { readonly schedules: readonly Schedule[]; readonly jobs: NamedJobs },
  { workerRegistry, lifecycle, config, onIncident }: ScheduleWorkDeps,
): Promise<Working[]> {
  const { tasksHash = "" } = config;
  let newest = tasksHash;
  const isNewest = async (): Promise<boolean> => {
    const before = newest;
    const [last = `0 ${tasksHash}`] = (await workerRegistry.workers(tasksOfWorkers)).toSorted().toReversed();
    newest = last.split(" ")[1] ?? "";
    if (newest === tasksHash) return true;
    const message = `a worker with a newer configuration (${newest}) runs the schedules, and not this one (${tasksHash}): give all workers the same configuration`;
    if (newest !== before) onIncident({ message });
    return false;
  };
  if (context.schedules.length > 0) {
    const id = `${context.clock.wallMs()} ${tasksHash} ${process.pid}-${randomBytes(3).toString("hex")}`;
    lifecycle.onStop("tasks of schedules", await workerRegistry.announce(tasksOfWorkers, id));
  }
  return context.jobs.consumeAll(context.schedules, {
    work: async (schedule, signal) => {
      if (await isNewest()) return workOnSchedule(schedule, context, signal);
      return { kind: "postponed", delayMs: pollIntervalMs, scope: "job", reason: "a worker with newer tasks" };
    },
    status: async (schedule) => ((await isNewest()) ? statusOfSchedule(schedule, context) : "none"),
    onIncident,
  });
}

// Determines which times of a schedule have passed, and whether they were missed.

/** A time noticed later than this was missed: no worker was running. */
const onTimeMs = minuteMs;
/** Upper limit for counting passed times. */
const maxCounted = 1_000;

/** The jitter added to a schedule's time; the same in every process. */
export function jitterOf({ name, jitterMs }: Pick<Schedule, "name" | "jitterMs">, dueMs: number): number {
  if (jitterMs === 0) return 0;
  const digest = hash("sha256", `${name} ${dueMs}`, "buffer");
  return Math.floor((digest.readUInt32BE(0) / 2 ** 32) * jitterMs);
}

/**
 * The times from `dueMs` (included) to now.
 * @returns the latest of them, and how many, up to `maxCounted`; `isMissed`: the latest passed so long ago that no
 *   worker can have been running, or its window has passed; `isInTime`: its task may still start
 */
export function passedTimes(schedule: Schedule, dueMs: number, nowMs: number) {
  const { cron, missed } = schedule;
  let latestMs = dueMs;
  let count = 1;
  for (let next = cron.next(dueMs); next !== undefined && next <= nowMs && count < maxCounted; next = cron.next(next)) {
    latestMs = next;
    count += 1;
  }
  if (count === maxCounted) latestMs = latestBefore(cron, latestMs, nowMs);
  const windowMs = missed === "once" ? Number.POSITIVE_INFINITY : missed === "skip" ? onTimeMs : missed.withinMs;
  const lateMs = nowMs - latestMs - jitterOf(schedule, latestMs);
  return { latestMs, count, isMissed: lateMs > Math.min(windowMs, onTimeMs), isInTime: lateMs <= windowMs };
}

/** When the window of a time ends, after which its task must not start; never without `within`. */
function windowEndMs(schedule: Schedule, dueMs: number): number {
  const { missed } = schedule;
  return typeof missed === "string" ? Number.POSITIVE_INFINITY : dueMs + jitterOf(schedule, dueMs) + missed.withinMs;
}

/** The latest time up to now, found without iterating over all of them. */
function latestBefore(cron: Cron, knownMs: number, nowMs: number): number {
  let latestMs = knownMs;
  for (let backMs = onTimeMs; latestMs === knownMs && backMs < nowMs - knownMs; backMs *= 4) {
    for (let next = cron.next(nowMs - backMs); next !== undefined && next <= nowMs; next = cron.next(next)) {
      latestMs = next;
    }
  }
  return latestMs;
}

/** Stretches kept: one more starts whenever a clock jumps ahead, or times were missed. */
const maxStretches = 10;

/** The stretches with one more time. */
function withTime({ cron }: Pick<Schedule, "cron">, stretches: readonly Stretch[], atMs: number): Stretch[] {
  const before = stretches.find(([, untilMs]) => untilMs < atMs && cron.next(untilMs) === atMs);
  const others = stretches.filter((one) => one !== before);
  return [...others, [before?.[0] ?? atMs, atMs] as const].slice(-maxStretches);
}

/** `nightly-20261122T030000Z` */
export function executionId(name: string, dueMs: number): string {
  return `${name}-${new Date(dueMs).toISOString().replace(/[-:]|\.000/g, "")}`;
}

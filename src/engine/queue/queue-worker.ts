/**
 * Runs jobs of one queue, several at a time, and reports each result to BullMQ. It hides BullMQ's pitfalls from the
 * rest of the code: losing a job's lock aborts the work on it, a stop has a deadline, progress can be checked, and jobs
 * that were lost are added again.
 */
import { randomBytes } from "node:crypto";
import { type Job, type Queue, Worker, DelayedError, RateLimitError, WaitingError } from "bullmq";
import type { Redis } from "ioredis";
import { messageOf } from "#core/errors.ts";
import type { Keys } from "#redis/keys.ts";
import { queueTime, type Timing } from "#core/timings.ts";
import { traced } from "#core/traced.ts";
import type { WorkerRegistry } from "./worker-registry.ts";
import { lockMs, maxHoldMs, repairTimes, stalledCheckMs } from "./wrong-times.ts";
import { backoffMs } from "#core/backoff.ts";
import { type Clock, every, inTime } from "#core/time.ts";
import type { JobResult, Working } from "./job-result.ts";

const stopMs = 15_000;
const restoreEveryMs = 5_000;
const faultBackoff = { baseMs: 500, capMs: 30_000 };
/** How long before the refresh the queue resumes: the rest is waited for in the process, to the millisecond. */
const leadMs = 1_000;
/** So long after a lost lock, the errors of other jobs have the same cause. */
const lostLockMs = 60_000;
const faultNotedMs = 60_000;

export interface QueueWorkerDeps {
  /** The connection of all queues; each worker takes jobs with its own. */
  readonly redis: Redis;
  readonly connect: (name: string) => Redis;
  readonly keys: Keys;
  readonly workerRegistry: WorkerRegistry;
  readonly clock: Clock;
}

export interface QueueWorkerOptions<Data> extends QueueWorkerDeps {
  readonly queue: Queue<Data>;
  /** Jobs in progress at once. */
  readonly atOnce: number;
  /**
   * Processes a job; the signal aborts when this process stops or has lost the job's lock. `deaths`: how many processes
   * have died with it.
   */
  readonly work: (data: Data, signal: AbortSignal, deaths: number) => Promise<JobResult>;
  /** Not called while this process stops. */
  readonly afterReporting?: (data: Data, kind: string) => Promise<void>;
  /** Adds jobs for work that has none; called at the start and then every 5 s. */
  readonly restore: () => Promise<void> | void;
  /** Whether a job is a span. Defaults to true; not for jobs that look for work every few seconds, or read for days. */
  readonly isTraced?: boolean;
  /** The span that a job's span continues, as a W3C `traceparent`. */
  readonly traceParentOf?: (data: Data) => Promise<string | undefined>;
  readonly onIncident: (incident: { readonly message: string; readonly data?: Data }) => void;
}

export class QueueWorker<Data> implements Working {
  readonly #options: QueueWorkerOptions<Data>;
  readonly #stopping = new AbortController();
  #worker: Worker<Data, string> | undefined;
  #leave: (() => Promise<void>) | undefined;
  #stopRestoring: (() => void) | undefined;
  #stopped: Promise<void> | undefined;
  #lastStartMs: number;
  /** Errors of Redis since a job was taken last. */
  #faults = 0;
  #isBackingOff = false;
  #lockNotedUntilMs = Number.NEGATIVE_INFINITY;
  #lastFault = "";
  #faultNotedUntilMs = Number.NEGATIVE_INFINITY;

  constructor(options: QueueWorkerOptions<Data>) {
    this.#options = options;
    this.#lastStartMs = options.clock.monotonicMs();
  }

  async start(): Promise<void> {
    const { queue, workerRegistry } = this.#options;
    this.#leave = await workerRegistry.announce(queue.name, `${process.pid}-${randomBytes(3).toString("hex")}`);
    await this.#open();
    await this.#restore();
    this.#stopRestoring = every(restoreEveryMs, () => void this.#restore());
  }

  async #restore(): Promise<void> {
    const { queue, redis, clock, restore } = this.#options;
    await repairTimes(queue, redis, clock.wallMs()).catch(() => undefined);
    await this.#putBack(restore);
  }

  /** Work that fails here is tried again with the next `restore`. */
  async #putBack(work: () => Promise<void> | void): Promise<void> {
    const { queue, onIncident } = this.#options;
    try {
      await work();
    } catch (thrown) {
      onIncident({ message: `work could not be put back into the queue ${queue.name}: ${messageOf(thrown)}` });
    }
  }

  async #open(): Promise<void> {
    const { queue, connect, keys, atOnce, onIncident } = this.#options;
    const worker = new Worker<Data, string>(queue.name, (job, token, signal) => this.#work(job, token, signal), {
      connection: connect(`worker-${queue.name}`),
      prefix: keys.queues(),
      concurrency: atOnce,
      lockDuration: lockMs,
      stalledInterval: stalledCheckMs,
      // The work itself counts deaths.
      maxStalledCount: Number.MAX_SAFE_INTEGER,
      maximumRateLimitDelay: 1_000,
      settings: { backoffStrategy: (attempts) => backoffMs(faultBackoff, attempts) },
    });
    worker.on("error", (error) => void this.#backOff(worker, error));
    worker.on("failed", (job, error) => onIncident({ ...(job ? { data: job.data } : {}), message: messageOf(error) }));
    worker.on("lockRenewalFailed", (jobIds) => {
      for (const jobId of jobIds) worker.cancelJob(jobId, "its lock was lost");
    });
    worker.on("completed", (job, kind) => {
      if (!this.#stopping.signal.aborted)
        void this.#putBack(async () => this.#options.afterReporting?.(job.data, kind));
    });
    this.#worker = worker;
    await worker.waitUntilReady();
  }

  /** A lock that was lost brings several errors for each of the jobs. */
  #noteLostLock(): void {
    const { clock, onIncident } = this.#options;
    if (clock.monotonicMs() < this.#lockNotedUntilMs) return;
    this.#lockNotedUntilMs = clock.monotonicMs() + lostLockMs;
    onIncident({ message: `this process stood still for ${lockMs / 1_000} s or more: its work is taken up again` });
  }

  /** Reports a fault once a minute: while Redis is away, each connection has one every second. */
  #noteFault(fault: string): void {
    const { clock, onIncident } = this.#options;
    if (fault === this.#lastFault && clock.monotonicMs() < this.#faultNotedUntilMs) return;
    this.#lastFault = fault;
    this.#faultNotedUntilMs = clock.monotonicMs() + faultNotedMs;
    onIncident({ message: `the queue is tried again after an error: ${fault}` });
  }

  /** BullMQ asks again at once after an error of Redis, such as that of a full disk. */
  async #backOff(worker: Worker<Data, string>, error: Error): Promise<void> {
    if (this.#isBackingOff) return;
    const { clock } = this.#options;
    if (/\block for job\b/.test(error.message)) return this.#noteLostLock();
    this.#noteFault(messageOf(error));
    if (error.name !== "ReplyError") return;
    this.#isBackingOff = true;
    this.#faults += 1;
    await worker.pause(true).catch(() => undefined);
    await clock.sleep(backoffMs(faultBackoff, this.#faults), this.#stopping.signal).catch(() => undefined);
    this.#isBackingOff = false;
    void worker.resume();
  }

  /**
   * Whether work is progressing: false if jobs wait, nothing holds them back, and none was picked up for `withinMs`.
   * After a Redis outage a worker can be connected and still make no progress; a health check uses this.
   */
  async isMoving(withinMs: number): Promise<boolean> {
    const { queue, clock, atOnce } = this.#options;
    const [counts, heldMs] = await Promise.all([queue.getJobCounts("wait", "active"), queue.getRateLimitTtl()]);
    const isHeld = heldMs > 0 && heldMs <= maxHoldMs;
    const isIdle = (counts.wait ?? 0) === 0 || (counts.active ?? 0) >= atOnce || isHeld;
    return isIdle || clock.monotonicMs() - this.#lastStartMs < withinMs;
  }

  /** Takes jobs with new connections from now on. The old ones may hang, so nothing waits for their end. */
  async restart(): Promise<void> {
    const stuck = this.#worker;
    if (stuck === undefined || this.#stopping.signal.aborted) return;
    this.#lastStartMs = this.#options.clock.monotonicMs();
    stuck.cancelAllJobs("the connections are replaced");
    stuck.close(true).catch(() => undefined);
    await this.#open();
  }

  #work(job: Job<Data>, token: string | undefined, lost: AbortSignal | undefined): Promise<string> {
    const { queue, traceParentOf, isTraced = true } = this.#options;
    publishQueueTime(queue.name, job);
    if (!isTraced) return this.#processJob(job, token, lost);
    return traced(
      async () => ({
        name: `process ${queue.name}`,
        kind: "consumer",
        attributes: {
          "messaging.system": "bullmq",
          "messaging.operation.name": "process",
          "messaging.operation.type": "process",
          "messaging.destination.name": queue.name,
          "messaging.message.id": job.id ?? "",
        },
        parent: await traceParentOf?.(job.data),
      }),
      () => this.#processJob(job, token, lost),
    );
  }

  async #processJob(job: Job<Data>, token: string | undefined, lost: AbortSignal | undefined): Promise<string> {
    const { clock, work } = this.#options;
    this.#lastStartMs = clock.monotonicMs();
    this.#faults = 0;
    const signal = lost === undefined ? this.#stopping.signal : AbortSignal.any([this.#stopping.signal, lost]);
    const result = await work(job.data, signal, job.stalledCounter);
    // Without the lock the job belongs to another worker by now: do not touch it.
    if (lost?.aborted) return result.kind;
    await this.#report(result, job, token);
    return result.kind;
  }

  /**
   * No result consumes one of the job's attempts: a spent quota holds the whole queue until shortly before the refresh,
   * other waits delay only this job.
   */
  async #report(result: JobResult, job: Job<Data>, token: string | undefined): Promise<void> {
    if (result.kind === "handed-back") {
      await job.moveToWait(token);
      throw new WaitingError();
    }
    if (result.kind !== "postponed") return;
    if (result.scope === "job") {
      await job.moveToDelayed(this.#options.clock.wallMs() + Math.max(1, Math.ceil(result.delayMs)), token);
      throw new DelayedError();
    }
    await this.#hold(result.delayMs - leadMs);
    throw new RateLimitError();
  }

  /** In BullMQ the last writer wins, so this only extends a hold. After the longest one, a job asks for another. */
  async #hold(holdMs: number): Promise<void> {
    const { queue } = this.#options;
    const wholeMs = Math.min(Math.max(1, Math.floor(holdMs)), maxHoldMs);
    if (wholeMs > (await queue.getRateLimitTtl())) await queue.rateLimit(wholeMs);
  }

  /** Stops taking jobs and waits for those in progress to reach a safe point; after 15 s it abandons jobs that hang. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    this.#stopRestoring?.();
    this.#stopping.abort(new Error("this process is stopping"));
    await this.#leave?.();
    const worker = this.#worker;
    if (worker === undefined) return;
    await inTime(this.#options.clock, stopMs, worker.close()).catch(() => undefined);
  }
}

/** A job that was postponed has waited as it should: only its first start counts. */
function publishQueueTime(queue: string, { attemptsStarted, processedOn, timestamp, delay }: Job): void {
  if (!queueTime.hasSubscribers || attemptsStarted > 1 || processedOn === undefined) return;
  const seconds = Math.max(0, processedOn - timestamp - delay) / 1_000;
  queueTime.publish({ seconds, labels: { queue } } satisfies Timing);
}

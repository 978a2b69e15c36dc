/**
 * Runs jobs of one queue, several at a time, and reports each result to BullMQ. It hides BullMQ's pitfalls from the rest
 * of the code: losing a job's lock aborts the work on it, a stop has a deadline, and progress can be checked.
 */
import { randomBytes } from "node:crypto";
import { type Job, type Queue, Worker, DelayedError, RateLimitError, WaitingError } from "bullmq";
import type { Redis } from "ioredis";
import { messageOf } from "#core/errors.ts";
import type { Keys } from "#redis/keys.ts";
import { queueTime, type Timing } from "#core/timings.ts";
import { traced } from "#core/traced.ts";
import type { WorkerRegistry } from "./worker-registry.ts";
import { faultBackoffMs } from "./open-queue.ts";
import { lockMs, maxHoldMs, stalledCheckMs } from "./wrong-times.ts";
import { type Clock, inTime } from "#core/time.ts";
import type { WorkResult, JobResult } from "./job-result.ts";

const stopMs = 15_000;
/** So long after a lost lock, the errors of other jobs have the same cause. */
const lostLockMs = 60_000;

export interface QueueWorkerOptions<Data, V> {
  readonly queue: Queue<Data>;
  readonly connect: (name: string) => Redis;
  readonly keys: Keys;
  readonly workerRegistry: WorkerRegistry;
  readonly clock: Clock;
  /** Jobs in progress at once. */
  readonly atOnce: number;
  /**
   * Processes a job; the signal aborts when this process stops or has lost the job's lock. `deaths`: how many processes have
   * died with it.
   */
  readonly work: (data: Data, signal: AbortSignal, deaths: number) => Promise<V>;
  /** Called after the work, while this process still holds the job, and before the result is reported to the queue. */
  readonly beforeReporting?: (data: Data, result: V) => Promise<void>;
  readonly afterReporting?: (data: Data, kind: string) => void | Promise<void>;
  /** The span that a job's span continues, as a W3C `traceparent`. */
  readonly traceParentOf?: (data: Data) => Promise<string | undefined>;
  readonly onIncident: (incident: { readonly message: string; readonly data?: Data }) => void;
}

export class QueueWorker<Data, V extends JobResult | WorkResult> {
  readonly #options: QueueWorkerOptions<Data, V>;
  readonly #stopping = new AbortController();
  #worker: Worker<Data, string> | undefined;
  #leave: (() => Promise<void>) | undefined;
  #lastStartMs: number;
  /** Errors of Redis since a job was taken last. */
  #faults = 0;
  #isBackingOff = false;
  #lockNotedUntilMs = Number.NEGATIVE_INFINITY;

  private constructor(options: QueueWorkerOptions<Data, V>) {
    this.#options = options;
    this.#lastStartMs = options.clock.monotonicMs();
  }

  static async start<Data, V extends JobResult | WorkResult>(
    options: QueueWorkerOptions<Data, V>,
  ): Promise<QueueWorker<Data, V>> {
    const worker = new QueueWorker(options);
    const id = `${process.pid}-${randomBytes(3).toString("hex")}`;
    worker.#leave = await options.workerRegistry.announce(options.queue.name, id);
    await worker.#open();
    return worker;
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
      settings: { backoffStrategy: (attempts) => faultBackoffMs(attempts) },
    });
    worker.on("error", (error) => void this.#backOff(worker, error));
    worker.on("failed", (job, error) => onIncident({ ...(job ? { data: job.data } : {}), message: messageOf(error) }));
    worker.on("lockRenewalFailed", (jobIds) => {
      for (const jobId of jobIds) worker.cancelJob(jobId, "its lock was lost");
    });
    worker.on("completed", (job, kind) => void this.#options.afterReporting?.(job.data, kind));
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

  /** BullMQ asks again at once after an error of Redis, such as that of a full disk. */
  async #backOff(worker: Worker<Data, string>, error: Error): Promise<void> {
    if (this.#isBackingOff) return;
    const { clock, onIncident } = this.#options;
    if (/\block for job\b/.test(error.message)) return this.#noteLostLock();
    onIncident({ message: `the queue is tried again after an error: ${messageOf(error)}` });
    if (error.name !== "ReplyError") return;
    this.#isBackingOff = true;
    this.#faults += 1;
    await worker.pause(true).catch(() => undefined);
    await clock.sleep(faultBackoffMs(this.#faults), this.#stopping.signal).catch(() => undefined);
    this.#isBackingOff = false;
    void worker.resume();
  }

  /**
   * Whether work is progressing: false if jobs wait, nothing holds them back, and none was picked up for `withinMs`. After
   * a Redis outage a worker can be connected and still make no progress; a health check uses this.
   */
  async isMoving(withinMs: number): Promise<boolean> {
    const { queue, clock } = this.#options;
    const [counts, heldMs] = await Promise.all([queue.getJobCounts("wait", "active"), queue.getRateLimitTtl()]);
    const isHeld = heldMs > 0 && heldMs <= maxHoldMs;
    const isIdle = (counts.wait ?? 0) === 0 || (counts.active ?? 0) > 0 || isHeld;
    return isIdle || clock.monotonicMs() - this.#lastStartMs < withinMs;
  }

  /** Takes jobs with new connections from now on. The old ones may hang, so nothing waits for their end. */
  async restart(): Promise<void> {
    const stuck = this.#worker;
    if (stuck === undefined || this.#stopping.signal.aborted) return;
    this.#lastStartMs = this.#options.clock.monotonicMs();
    stuck.close(true).catch(() => undefined);
    await this.#open();
  }

  #work(job: Job<Data>, token: string | undefined, lost: AbortSignal | undefined): Promise<string> {
    const { queue, traceParentOf } = this.#options;
    publishQueueTime(queue.name, job);
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
    const { queue, clock, work, beforeReporting } = this.#options;
    this.#lastStartMs = clock.monotonicMs();
    this.#faults = 0;
    const signal = lost === undefined ? this.#stopping.signal : AbortSignal.any([this.#stopping.signal, lost]);
    const result = await work(job.data, signal, job.stalledCounter);
    // Without the lock the job belongs to another worker by now: do not touch it.
    if (lost?.aborted) return result.kind;
    await beforeReporting?.(job.data, result);
    await reportToQueue(result, { queue, job, token, clock });
    return result.kind;
  }

  /** Stops picking up jobs and waits for those in progress to reach a safe point; after 15 s it abandons jobs that hang. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error("this process is stopping"));
    await this.#leave?.();
    const worker = this.#worker;
    if (worker === undefined) return;
    const closed = await inTime(this.#options.clock, stopMs, worker.close()).catch(() => undefined);
    if (closed === undefined) await worker.close(true).catch(() => undefined);
  }
}

/** A job that was postponed has waited as it should: only its first start counts. */
function publishQueueTime(queue: string, { attemptsStarted, processedOn, timestamp, delay }: Job): void {
  if (!queueTime.hasSubscribers || attemptsStarted > 1 || processedOn === undefined) return;
  const seconds = Math.max(0, processedOn - timestamp - delay) / 1_000;
  queueTime.publish({ seconds, labels: { queue } } satisfies Timing);
}

// Reports the result of a job to BullMQ. None of the results consumes one of the job's attempts: a spent quota pauses the
// whole queue until shortly before the refresh, other waits delay only this job.

interface JobContext<Data> {
  readonly queue: Queue<Data>;
  readonly job: Job<Data>;
  readonly token: string | undefined;
  readonly clock: Clock;
}

/** How long before the refresh the queue resumes: the rest is waited for in the process, to the millisecond. */
const leadMs = 1_000;

async function reportToQueue<Data>(result: JobResult | WorkResult, context: JobContext<Data>): Promise<void> {
  const { queue, job, token, clock } = context;
  switch (result.kind) {
    case "finished":
    case "parked":
    case "ended":
      return;
    case "handed-back":
      await job.moveToWait(token);
      throw new WaitingError();
    case "postponed": {
      if (result.scope === "job") {
        await job.moveToDelayed(clock.wallMs() + Math.ceil(result.delayMs), token);
        throw new DelayedError();
      }
      await holdQueue(queue, result.delayMs - leadMs);
      throw new RateLimitError();
    }
  }
}

/** In BullMQ the last writer wins, so this only ever extends a hold. After the longest one, a job asks for another. */
async function holdQueue<Data>(queue: Queue<Data>, holdMs: number): Promise<void> {
  const wholeMs = Math.min(Math.max(1, Math.floor(holdMs)), maxHoldMs);
  const presentMs = await queue.getRateLimitTtl();
  if (wholeMs > presentMs) await queue.rateLimit(wholeMs);
}

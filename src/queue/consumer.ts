/**
 * Takes segments of one bucket from its queue, several at a time, and hands them to the jobs. It keeps BullMQ's sharp
 * edges away from the rest: a lost lock stops the work on that segment, a stop has a deadline, and what the queue lost
 * is put in again from the ledger.
 */
import { randomBytes } from "node:crypto";
import { type Job, type Queue, Worker } from "bullmq";
import type { Redis } from "ioredis";
import type { PlatformError } from "#core/errors.ts";
import { messageOf } from "#core/errors.ts";
import { type Clock, every } from "#core/time.ts";
import type { SegmentReference, Verdict } from "#jobs/job.ts";
import type { Keys } from "#redis/keys.ts";
import type { Ledger } from "#store/ledger.ts";
import type { Presence } from "./presence.ts";
import { type Queues, faultBackoffMs, queueName } from "./queues.ts";
import { tellQueue } from "./verdict.ts";

/** A killed worker's segments are taken up by others after 5 to 15 s. */
const lockMs = 10_000;
const stalledCheckMs = 5_000;
/** A segment that was on so many workers when they died stays in quarantine. */
const mostStalls = 5;
const restoreEveryMs = 5_000;
const stopMs = 15_000;

/** Something that an operator should hear of. */
export interface Trouble {
  readonly message: string;
  readonly runId?: string;
  /** The platform refuses our credentials or permissions. */
  readonly refusal?: PlatformError;
}

export interface ConsumerOptions {
  readonly bucket: string;
  readonly connect: (name: string) => Redis;
  readonly keys: Keys;
  readonly queues: Queues;
  readonly ledger: Ledger;
  readonly presence: Presence;
  readonly clock: Clock;
  readonly execute: (reference: SegmentReference, signal: AbortSignal) => Promise<Verdict>;
  /** Segments under way at once. */
  readonly segmentsAtOnce: number;
  readonly onTrouble: (trouble: Trouble) => void;
}

export class Consumer {
  readonly #options: ConsumerOptions;
  readonly #workerId = `${process.pid}-${randomBytes(3).toString("hex")}`;
  readonly #stopping = new AbortController();
  #worker: Worker<SegmentReference, Verdict["kind"]> | undefined;
  #queue: Queue<SegmentReference> | undefined;
  #leave: (() => Promise<void>) | undefined;
  #stopRestoring: (() => void) | undefined;
  #lastStartMs: number;

  private constructor(options: ConsumerOptions) {
    this.#options = options;
    this.#lastStartMs = options.clock.monotonicMs();
  }

  /** Starts to work on the bucket. */
  static async start(options: ConsumerOptions): Promise<Consumer> {
    const consumer = new Consumer(options);
    await consumer.#start();
    return consumer;
  }

  async #start(): Promise<void> {
    const { bucket, connect, keys, queues, presence } = this.#options;
    this.#queue = await queues.queue(bucket);
    this.#leave = await presence.announce(bucket, this.#workerId);
    const worker = new Worker<SegmentReference, Verdict["kind"]>(
      queueName(bucket),
      (job, token, signal) => this.#work(job, token, signal),
      {
        connection: connect(`worker-${bucket}`),
        prefix: keys.queues(),
        concurrency: this.#options.segmentsAtOnce,
        lockDuration: lockMs,
        stalledInterval: stalledCheckMs,
        maxStalledCount: mostStalls,
        maximumRateLimitDelay: 1_000,
        drainDelay: 2,
        settings: { backoffStrategy: (attempts) => faultBackoffMs(attempts) },
      },
    );
    worker.on("error", (error) => {
      this.#options.onTrouble({ message: `the queue is tried again after an error: ${messageOf(error)}` });
    });
    worker.on("failed", (job, error) => {
      this.#options.onTrouble({ ...(job ? { runId: job.data.runId } : {}), message: messageOf(error) });
    });
    worker.on("lockRenewalFailed", (jobIds) => {
      for (const jobId of jobIds) worker.cancelJob(jobId, "its lock was lost");
    });
    worker.on("completed", (job, verdict) => {
      if (verdict === "parked") void this.#afterParking(job.data.runId);
    });
    this.#worker = worker;
    await worker.waitUntilReady();
    await this.#restore();
    this.#stopRestoring = every(restoreEveryMs, () => void this.#restore());
  }

  /**
   * Whether work moves: false when work waits, nothing holds it back, and none was taken up for `withinMs`. A worker
   * can be connected and yet stand still after an outage of Redis; a health check asks this.
   */
  async isMoving(withinMs: number): Promise<boolean> {
    const queue = this.#queue;
    if (queue === undefined) return false;
    const [counts, heldMs] = await Promise.all([queue.getJobCounts("wait", "active"), queue.getRateLimitTtl()]);
    const isIdle = (counts.wait ?? 0) === 0 || (counts.active ?? 0) > 0 || heldMs > 0;
    return isIdle || this.#options.clock.monotonicMs() - this.#lastStartMs < withinMs;
  }

  async #work(
    job: Job<SegmentReference>,
    token: string | undefined,
    lost: AbortSignal | undefined,
  ): Promise<Verdict["kind"]> {
    const { clock, execute, onTrouble } = this.#options;
    this.#lastStartMs = clock.monotonicMs();
    const signal = lost === undefined ? this.#stopping.signal : AbortSignal.any([this.#stopping.signal, lost]);
    const verdict = await execute(job.data, signal);
    if (verdict.kind === "postponed" && verdict.refusal !== undefined) {
      onTrouble({ runId: job.data.runId, message: verdict.reason, refusal: verdict.refusal });
    }
    // Without the lock the job is another worker's by now: leave it alone.
    if (lost?.aborted) return verdict.kind;
    if (verdict.kind === "finished" && verdict.canaryHeld) await this.#enqueue(job.data.runId);
    const queue = this.#queue as Queue<SegmentReference>;
    await tellQueue(verdict, { queue, job, token, clock });
    return verdict.kind;
  }

  /** A run that was resumed while its last jobs were just being parked has none in the queue: give it some. */
  async #afterParking(runId: string): Promise<void> {
    const state = await this.#options.ledger.state(runId).catch(() => "gone");
    if (state === "running" && !this.#stopping.signal.aborted) await this.#restore();
  }

  async #enqueue(runId: string): Promise<void> {
    await this.#options.queues.enqueue(await this.#options.ledger.run(runId));
  }

  async #restore(): Promise<void> {
    try {
      await this.#options.queues.restore(this.#options.bucket);
    } catch (thrown) {
      this.#options.onTrouble({ message: `work could not be put back into the queue: ${messageOf(thrown)}` });
    }
  }

  /** Starts no call any more, lets those in flight end, gives the rest back; after 15 s it leaves what hangs. */
  async stop(): Promise<void> {
    this.#stopRestoring?.();
    this.#stopping.abort(new Error("this process is stopping"));
    await this.#leave?.();
    const worker = this.#worker;
    if (worker === undefined) return;
    const late = new AbortController();
    const isClosed = await Promise.race([
      worker.close().then(() => true),
      this.#options.clock.sleep(stopMs, late.signal).then(
        () => false,
        () => true,
      ),
    ]).catch(() => false);
    late.abort();
    if (!isClosed) await worker.close(true).catch(() => undefined);
  }
}

/**
 * Works on one bucket: takes segments of its runs from the queue and hands them to the jobs. What the queue lost is put
 * in again from the ledger.
 */
import type { Redis } from "ioredis";
import type { PlatformError } from "#core/errors.ts";
import { messageOf } from "#core/errors.ts";
import { type Clock, every } from "#core/time.ts";
import type { SegmentReference, Verdict } from "#jobs/job.ts";
import type { Keys } from "#redis/keys.ts";
import type { Ledger } from "#store/ledger.ts";
import type { Presence } from "./presence.ts";
import { QueueWorker } from "./queue-worker.ts";
import type { Queues } from "./queues.ts";

const restoreEveryMs = 5_000;

/** Something that an operator should hear of. */
export interface Trouble {
  readonly message: string;
  readonly runId?: string;
  /** The platform refuses our credentials or permissions. */
  readonly refusal?: PlatformError;
  /** The report of the work says it as well, so that whoever follows it needs no message. */
  readonly isInReport?: boolean;
}

/** Work on a queue that can be watched and stopped. */
export interface Working {
  isMoving(withinMs: number): Promise<boolean>;
  stop(): Promise<void>;
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

export class Consumer implements Working {
  readonly #options: ConsumerOptions;
  #worker: QueueWorker<SegmentReference, Verdict> | undefined;
  #stopRestoring: (() => void) | undefined;

  private constructor(options: ConsumerOptions) {
    this.#options = options;
  }

  /** Starts to work on the bucket. */
  static async start(options: ConsumerOptions): Promise<Consumer> {
    const consumer = new Consumer(options);
    await consumer.#start();
    return consumer;
  }

  async #start(): Promise<void> {
    const { bucket, queues, segmentsAtOnce, onTrouble } = this.#options;
    this.#worker = await QueueWorker.start<SegmentReference, Verdict>({
      ...this.#options,
      queue: await queues.queue(bucket),
      atOnce: segmentsAtOnce,
      work: (reference, signal) => this.#work(reference, signal),
      beforeTelling: async ({ runId }, verdict) => {
        if (verdict.kind === "finished" && verdict.canaryHeld) await this.#enqueue(runId);
      },
      afterTelling: ({ runId }, kind) => {
        if (kind === "parked") void this.#afterParking(runId);
      },
      onTrouble: ({ message, data }) => onTrouble({ message, ...(data ? { runId: data.runId } : {}) }),
    });
    await this.#restore();
    this.#stopRestoring = every(restoreEveryMs, () => void this.#restore());
  }

  async isMoving(withinMs: number): Promise<boolean> {
    return (await this.#worker?.isMoving(withinMs)) ?? false;
  }

  async #work(reference: SegmentReference, signal: AbortSignal): Promise<Verdict> {
    const verdict = await this.#options.execute(reference, signal);
    if (verdict.kind === "postponed" && verdict.refusal !== undefined) {
      this.#options.onTrouble({ runId: reference.runId, message: verdict.reason, refusal: verdict.refusal });
    }
    return verdict;
  }

  /** A run that was resumed while its last jobs were just being parked has none in the queue: give it some. */
  async #afterParking(runId: string): Promise<void> {
    const state = await this.#options.ledger.state(runId).catch(() => "gone");
    if (state === "running" && this.#worker?.isStopping === false) await this.#restore();
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

  /** Starts no call any more, lets those in flight end, gives the rest back. */
  async stop(): Promise<void> {
    this.#stopRestoring?.();
    await this.#worker?.stop();
  }
}

/**
 * Processes one bucket: takes segments of its runs from the queue and executes them. Jobs that the queue lost are enqueued
 * again from the ledger.
 */
import type { Redis } from "ioredis";
import { messageOf } from "#core/errors.ts";
import { type Clock, every } from "#core/time.ts";
import type { JobResult } from "#engine/queue/job-result.ts";
import type { Incident, Working } from "#engine/queue/working.ts";
import type { SegmentReference } from "./row-attempt.ts";
import type { Keys } from "#redis/keys.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { WorkerRegistry } from "#engine/queue/worker-registry.ts";
import type { QueueWorker } from "#engine/queue/queue-worker.ts";
import type { Queues } from "./queues.ts";

const restoreEveryMs = 5_000;
/** A segment whose work fails is tried again after this time at most. */
const faultCapMs = 30_000;

export interface ConsumerOptions {
  readonly bucket: string;
  readonly connect: (name: string) => Redis;
  readonly keys: Keys;
  readonly queues: Queues;
  readonly ledger: Ledger;
  readonly workerRegistry: WorkerRegistry;
  readonly clock: Clock;
  readonly execute: (reference: SegmentReference, signal: AbortSignal) => Promise<JobResult>;
  /** Segments in progress at once. */
  readonly segmentsAtOnce: number;
  readonly onIncident: (incident: Incident) => void;
}

export class Consumer implements Working {
  readonly #options: ConsumerOptions;
  #worker: QueueWorker<SegmentReference, JobResult> | undefined;
  #stopRestoring: (() => void) | undefined;

  private constructor(options: ConsumerOptions) {
    this.#options = options;
  }

  /** Starts processing the bucket. */
  static async start(options: ConsumerOptions): Promise<Consumer> {
    const consumer = new Consumer(options);
    await consumer.#start();
    return consumer;
  }

  async #start(): Promise<void> {
    const { bucket, queues, ledger, segmentsAtOnce, onIncident } = this.#options;
    const { QueueWorker } = await import("#engine/queue/queue-worker.ts");
    this.#worker = await QueueWorker.start<SegmentReference, JobResult>({
      ...this.#options,
      queue: await queues.queue(bucket),
      atOnce: segmentsAtOnce,
      work: (reference, signal, deaths) => this.#work({ ...reference, deaths }, signal),
      traceParentOf: async ({ runId }) => (await this.#options.ledger.run(runId)).traceParent,
      beforeReporting: async ({ runId }, result) => {
        if (result.kind === "finished" && result.canaryHeld) await this.#enqueue(runId);
      },
      afterReporting: ({ runId }, kind) => {
        if (kind === "parked") void this.#afterParking(runId);
      },
      onIncident: ({ message, data }) => {
        onIncident({ message, ...(data ? { runId: data.runId } : {}) });
        if (data) void ledger.recordProblem(data.runId, { message, delayMs: faultCapMs }).catch(() => undefined);
      },
    });
    await this.#restore();
    this.#stopRestoring = every(restoreEveryMs, () => void this.#restore());
  }

  async isMoving(withinMs: number): Promise<boolean> {
    return (await this.#worker?.isMoving(withinMs)) ?? false;
  }

  async restart(): Promise<void> {
    await this.#worker?.restart();
  }

  async #work(reference: SegmentReference, signal: AbortSignal): Promise<JobResult> {
    const result = await this.#options.execute(reference, signal);
    if (result.kind === "postponed" && result.refusal !== undefined) {
      const { reason, refusal } = result;
      this.#options.onIncident({ runId: reference.runId, message: reason, refusal });
      // A person has to change the configuration, and to restart the process.
      if (refusal.code === "CONFIG_INVALID") {
        await this.#options.ledger.move(reference.runId, "paused", ["running"], { reason }).catch(() => undefined);
      }
    }
    return result;
  }

  /** A run that was resumed just while its last jobs were parked has no job in the queue: enqueue them. */
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
      this.#options.onIncident({ message: `work could not be put back into the queue: ${messageOf(thrown)}` });
    }
  }

  /** Makes no new calls, waits for those in flight, and returns the remaining jobs to the queue. */
  async stop(): Promise<void> {
    this.#stopRestoring?.();
    await this.#worker?.stop();
  }
}

/**
 * The queues of deliveries: one per webhook, so that a slow or unreachable receiver delays neither other webhooks nor runs.
 * A job triggers one attempt of a delivery; the log determines what to send and whether. Lost jobs are enqueued again
 * from the log.
 */
import type { Queue } from "bullmq";
import type { Redis } from "ioredis";
import { messageOf } from "#core/errors.ts";
import { every } from "#core/time.ts";
import type { DeliveryReference } from "./deliver-event.ts";
import type { WorkResult } from "#engine/queue/job-result.ts";
import type { Incident, Working } from "#engine/queue/working.ts";
import type { ProfileJobsOptions } from "#engine/queue/profile-queue.ts";
import { openQueue } from "#engine/queue/open-queue.ts";
import { QueueWorker } from "#engine/queue/queue-worker.ts";
import { jobOptions } from "#engine/queue/job-options.ts";

const jobName = "deliver-event";
/** Messages to one receiver in progress at once, per process. */
const atOnce = 4;
const restoreEveryMs = 5_000;
const restoreAtOnce = 1_000;

/** Dependencies of the consumer. */
export interface DeliveryDeps {
  readonly work: (reference: DeliveryReference, signal: AbortSignal) => Promise<WorkResult>;
  /** Ids of events whose delivery to the webhook is due; empty while it is stopped. */
  readonly due: (webhook: string, most: number) => Promise<readonly string[]>;
  readonly onIncident: (incident: Incident) => void;
}

export class DeliveryQueues {
  readonly #options: ProfileJobsOptions;
  readonly #open = new Map<string, Queue<DeliveryReference>>();
  #redis: Redis | undefined;

  constructor(options: ProfileJobsOptions) {
    this.#options = options;
  }

  /** Enqueues the delivery of events to a webhook. Repeating it has no effect. */
  async enqueue(webhook: string, eventIds: readonly string[]): Promise<void> {
    const jobs = eventIds.map((eventId) => ({
      name: jobName,
      data: { webhook, eventId },
      opts: { jobId: jobIdOf(webhook, eventId) },
    }));
    if (jobs.length > 0) await this.#queue(webhook).addBulk(jobs);
  }

  /** Delivers one event now, even if its next attempt is far off. */
  async enqueueNow(webhook: string, eventId: string): Promise<void> {
    const present = await this.#queue(webhook).getJob(jobIdOf(webhook, eventId));
    if (await present?.isDelayed()) await present?.promote().catch(() => undefined);
    await this.enqueue(webhook, [eventId]);
  }

  /** Whether a live process delivers to the webhook. */
  async isServed(webhook: string): Promise<boolean> {
    return (await this.#options.workerRegistry.workers(queueName(webhook))).length > 0;
  }

  /** Delivers to a webhook until stopped. */
  async consume(webhook: string, deps: DeliveryDeps): Promise<Working> {
    const worker = await QueueWorker.start<DeliveryReference, WorkResult>({
      ...this.#options,
      ...{ queue: this.#queue(webhook), atOnce },
      work: (reference, signal) => deps.work(reference, signal),
      onIncident: ({ message }) => deps.onIncident({ message }),
    });
    const restore = (): Promise<void> => this.#restore(webhook, deps);
    await restore();
    const stopRestoring = every(restoreEveryMs, () => void restore());
    return {
      isMoving: (withinMs) => worker.isMoving(withinMs),
      stop: () => {
        stopRestoring();
        return worker.stop();
      },
    };
  }

  /** Enqueues deliveries that are due and have no job. */
  async #restore(webhook: string, { due, onIncident }: DeliveryDeps): Promise<void> {
    try {
      await this.enqueue(webhook, await due(webhook, restoreAtOnce));
    } catch (thrown) {
      onIncident({ message: `messages to ${webhook} could not be put back into the queue: ${messageOf(thrown)}` });
    }
  }

  #queue(webhook: string): Queue<DeliveryReference> {
    let queue = this.#open.get(webhook);
    if (queue === undefined) {
      this.#redis ??= this.#options.connect("deliveries");
      queue = openQueue<DeliveryReference>(queueName(webhook), {
        redis: this.#redis,
        keys: this.#options.keys,
        // A job that failed because of internal faults is enqueued again, since the log lists its delivery as due.
        defaultJobOptions: { ...jobOptions, removeOnFail: true },
      });
      this.#open.set(webhook, queue);
    }
    return queue;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open.values()].map((queue) => queue.close()));
  }
}

function queueName(webhook: string): string {
  return `deliveries-${webhook}`;
}

function jobIdOf(webhook: string, eventId: string): string {
  return `${webhook}.${eventId}`;
}

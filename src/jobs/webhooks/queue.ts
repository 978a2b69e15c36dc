/**
 * The queues of deliveries: one for each webhook, so that a receiver that is slow or gone keeps nobody else waiting, and
 * no run either. A job is only the turn to try one delivery; what is to be sent, and whether, says the log. Jobs that got
 * lost are put in again from there.
 */
import type { Queue } from "bullmq";
import type { Redis } from "ioredis";
import { messageOf } from "#core/errors.ts";
import { every } from "#core/time.ts";
import type { DeliveryReference } from "./deliver-event.ts";
import type { WorkResult } from "#engine/job-result.ts";
import type { Incident, Working } from "#engine/working.ts";
import type { ProfileJobsOptions } from "#engine/profile-queue.ts";
import { openQueue } from "#engine/open-queue.ts";
import { QueueWorker } from "#engine/queue-worker.ts";
import { jobOptions } from "#engine/job-options.ts";

const jobName = "deliver-event";
/** Messages to one receiver under way at once, per process. */
const atOnce = 4;
const restoreEveryMs = 5_000;
const restoreAtOnce = 1_000;

/** What the consumer needs of the house. */
export interface DeliveryDeps {
  readonly work: (reference: DeliveryReference, signal: AbortSignal) => Promise<WorkResult>;
  /** Ids of events whose delivery to the webhook is due; none while it is stopped. */
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

  /** Has events delivered to a webhook. Doing it again changes nothing. */
  async enqueue(webhook: string, eventIds: readonly string[]): Promise<void> {
    const jobs = eventIds.map((eventId) => ({
      name: jobName,
      data: { webhook, eventId },
      opts: { jobId: jobIdOf(webhook, eventId) },
    }));
    if (jobs.length > 0) await this.#queue(webhook).addBulk(jobs);
  }

  /** Has one event delivered now, also where its next try is far off. */
  async enqueueNow(webhook: string, eventId: string): Promise<void> {
    const present = await this.#queue(webhook).getJob(jobIdOf(webhook, eventId));
    if (await present?.isDelayed()) await present?.promote().catch(() => undefined);
    await this.enqueue(webhook, [eventId]);
  }

  /** Whether a live process delivers to the webhook. */
  async isServed(webhook: string): Promise<boolean> {
    return (await this.#options.workerRegistry.workers(queueName(webhook))).length > 0;
  }

  /** Delivers to a webhook until it is stopped. */
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

  /** Puts in the jobs of deliveries that are due and have none. */
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
        // What the machinery failed too often is put in again, since the log has it as due.
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

/**
 * The queues of deliveries: one per webhook, so that a slow or unreachable receiver delays neither other webhooks nor runs.
 * A job triggers one attempt of a delivery; the log determines what to send and whether. Lost jobs are enqueued again
 * from the log.
 */
import { messageOf } from "#core/errors.ts";
import { jobOptions } from "#engine/queue/open-queue.ts";
import type { WorkResult, Incident, Working } from "#engine/queue/job-result.ts";
import { type QueueDeps, workQueues } from "#engine/queue/work-queues.ts";
import type { DeliveryReference } from "./work.ts";

const jobName = "deliver-event";
/** Messages to one receiver in progress at once, per process. */
const atOnce = 4;
const restoreAtOnce = 1_000;

/** Dependencies of the consumer. */
export interface DeliveryDeps {
  readonly work: (reference: DeliveryReference, signal: AbortSignal) => Promise<WorkResult>;
  /** Ids of events whose delivery to the webhook is due; empty while it is stopped. */
  readonly due: (webhook: string, max: number) => Promise<readonly string[]>;
  readonly onIncident: (incident: Incident) => void;
}

export type DeliveryQueues = ReturnType<typeof deliveryQueues>;

export function deliveryQueues(deps: QueueDeps) {
  const queues = workQueues<DeliveryReference>(
    {
      connection: "deliveries",
      nameOf: (webhook) => `deliveries-${webhook}`,
      // A job that failed because of internal faults is enqueued again, since the log lists its delivery as due.
      queueOptions: { defaultJobOptions: { ...jobOptions, removeOnFail: true } },
    },
    deps,
  );

  /** Enqueues the delivery of events to a webhook. Repeating it has no effect. */
  const enqueue = async (webhook: string, eventIds: readonly string[]): Promise<void> => {
    const jobs = eventIds.map((eventId) => ({
      name: jobName,
      data: { webhook, eventId },
      opts: { jobId: jobIdOf(webhook, eventId) },
    }));
    if (jobs.length > 0) await (await queues.queue(webhook)).addBulk(jobs);
  };

  /** Delivers one event now, even if its next attempt is far off. */
  const enqueueNow = async (webhook: string, eventId: string): Promise<void> => {
    const queue = await queues.queue(webhook);
    const present = await queue.getJob(jobIdOf(webhook, eventId));
    if (await present?.isDelayed()) await present?.promote().catch(() => undefined);
    await enqueue(webhook, [eventId]);
  };

  /** Delivers to a webhook until stopped. Deliveries that are due and have no job are enqueued again. */
  const consume = (webhook: string, { work, due, onIncident }: DeliveryDeps): Promise<Working> =>
    queues.consume(webhook, {
      atOnce,
      work,
      restore: async () => {
        try {
          await enqueue(webhook, await due(webhook, restoreAtOnce));
        } catch (thrown) {
          onIncident({ message: `messages to ${webhook} could not be put back into the queue: ${messageOf(thrown)}` });
        }
      },
      onIncident: ({ message }) => onIncident({ message }),
    });

  const { isServed, close } = queues;
  return { enqueue, enqueueNow, isServed, consume, close };
}

function jobIdOf(webhook: string, eventId: string): string {
  return `${webhook}.${eventId}`;
}

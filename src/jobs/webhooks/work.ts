/**
 * One attempt to deliver one event to one webhook: builds the message, sends it once, and records the result. All
 * attempts carry the same id, so an endpoint can detect duplicates; a crash between sending and recording causes one.
 * The delays between attempts are a list that the specification recommends, not the backoff of the engine's fault
 * rules. A job triggers one attempt; the log determines what to send and whether. There is one queue per webhook, so
 * that a slow or unreachable endpoint delays neither other webhooks nor runs.
 */
import { about } from "#core/backoff.ts";
import { hourMs, minuteMs, secondMs } from "#core/time.ts";
import { quarantined, quarantineReason } from "#engine/poison-guard.ts";
import { type NoticeEvent, contentOf } from "#events/webhook/webhook-message.ts";
import type { Delivery as Sent, WebhookSender } from "#events/webhook/webhook.ts";
import type { WebhookEndpoint } from "./config.ts";
import { type Delivery, type DeliveryLog, type TryEnd, deliveryIdOf, earlyMs } from "./deliveries.ts";
import type { WorkResult } from "#engine/queue/job-result.ts";
import { type QueueDeps, workQueues } from "#engine/queue/work-queues.ts";
import type { Kernel } from "#kernel/kernel.ts";

/** A delivery, as a queue carries it: never the message. */
type DeliveryReference = Readonly<{ webhook: string; eventId: string }>;

export interface DeliveryContext extends Pick<Kernel, "clock" | "guard"> {
  readonly log: DeliveryLog;
  readonly sender: Pick<WebhookSender, "send">;
  readonly endpoints: Readonly<Record<string, WebhookEndpoint>>;
}

/** Delays between attempts, as the specification recommends: about 28 hours in all. */
const delaysMs = [5 * secondMs, 5 * minuteMs, 30 * minuteMs, 2 * hourMs, 5 * hourMs, 10 * hourMs, 10 * hourMs] as const;
/** Upper limit for a wait that the endpoint requests. */
const longestWaitMs = 12 * hourMs;
const gone = 410;
const asksToWait: ReadonlySet<number> = new Set([429, 503]);

/** Attempts a delivery, unless it has ended. */
export async function deliverEvent(
  { webhook, eventId }: DeliveryReference,
  context: DeliveryContext,
  signal: AbortSignal,
): Promise<WorkResult> {
  const { log, clock } = context;
  if (signal.aborted) return { kind: "handed-back" };
  const delivery = await log.delivery(deliveryIdOf(webhook, eventId));
  if (delivery === undefined) await log.forget(webhook, eventId);
  const endpoint = Object.hasOwn(context.endpoints, webhook) ? context.endpoints[webhook] : undefined;
  if (delivery?.state !== "pending" || endpoint === undefined) return { kind: "ended" };
  if ((await log.status(webhook)).state === "stopped") return { kind: "ended" };
  const waitMs = earlyMs(delivery, clock.wallMs());
  if (waitMs > 0) return postponed(waitMs, delivery);
  const tried = await context.guard.run(`delivery ${delivery.deliveryId}`, async () => {
    const end = decideEnd(await sendOnce(delivery.event, endpoint, context.sender), delivery, clock.wallMs());
    return { end, noted: await log.noteTry(delivery, end) };
  });
  if (tried === quarantined) {
    await log.noteTry(delivery, { kind: "failed", reason: quarantineReason });
    return { kind: "ended" };
  }
  const { end, noted } = tried;
  if (end.nextAttemptAtMs === undefined || noted === "over") return { kind: "ended" };
  return postponed(end.nextAttemptAtMs - clock.wallMs(), delivery);
}

/** Sends a message about an event once, without retries. */
export function sendOnce(
  event: NoticeEvent & { readonly id: string },
  { webhook, url, secrets }: WebhookEndpoint,
  sender: Pick<WebhookSender, "send">,
): Promise<Sent> {
  return sender.send({
    ...contentOf(event, webhook.format),
    url: url(),
    secrets: secrets(),
    id: `msg_${event.id}`,
    deadlineMs: webhook.timeoutMs,
    reach: webhook.allowPrivate ? "anywhere" : "public",
  });
}

/** Describes the result of an attempt, for display. */
export function wordsFor(sent: Sent): string {
  if (sent.kind === "unanswered") return sent.reason;
  return sent.status === gone ? "it returned 410 Gone" : `it returned ${sent.status}`;
}

function decideEnd(sent: Sent, { tries }: Delivery, nowMs: number): TryEnd {
  if (sent.kind === "accepted") return { kind: "delivered", status: sent.status };
  const status = sent.kind === "refused" ? sent.status : undefined;
  const reason = wordsFor(sent);
  if (status === gone) return { kind: "stopped", status, reason };
  const delayMs = delaysMs[tries];
  if (delayMs === undefined) return { kind: "failed", status, reason };
  const isAsked = sent.kind === "refused" && asksToWait.has(sent.status);
  const askedMs = isAsked ? Math.min(sent.retryAfterMs ?? 0, longestWaitMs) : 0;
  return { kind: "again", status, reason, nextAttemptAtMs: nowMs + Math.max(about(delayMs), askedMs) };
}

function postponed(delayMs: number, { deliveryId }: Delivery): WorkResult {
  return { kind: "postponed", delayMs: Math.max(1, delayMs), scope: "job", reason: `${deliveryId} is tried again` };
}

export type DeliveryQueues = ReturnType<typeof deliveryQueues>;

export function deliveryQueues(deps: QueueDeps) {
  const queues = workQueues<DeliveryReference>(
    {
      nameOf: (webhook) => `deliveries-${webhook}`,
      // A job that failed because of internal faults is enqueued again, since the log lists its delivery as due.
      jobOptions: { removeOnFail: true },
    },
    deps,
  );

  /** Enqueues the delivery of events to a webhook. Repeating it has no effect. */
  const enqueue = async (webhook: string, eventIds: readonly string[]): Promise<void> => {
    const jobs = eventIds.map((eventId) => ({
      name: "deliver-event",
      data: { webhook, eventId },
      opts: { jobId: deliveryIdOf(webhook, eventId) },
    }));
    if (jobs.length > 0) await (await queues.queue(webhook)).addBulk(jobs);
  };

  /** Delivers one event now, even if its next attempt is far off. */
  const enqueueNow = async (webhook: string, eventId: string): Promise<void> => {
    const present = await (await queues.queue(webhook)).getJob(deliveryIdOf(webhook, eventId));
    if (await present?.isDelayed()) await present?.promote().catch(() => undefined);
    await enqueue(webhook, [eventId]);
  };

  return { ...queues, enqueue, enqueueNow };
}

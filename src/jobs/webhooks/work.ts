/**
 * One attempt to deliver one event to one webhook: builds the message, sends it once, and records the result. All attempts
 * carry the same id, so a receiver can detect duplicates; a crash between sending and recording causes one. The delays
 * between attempts are a list that the specification recommends, not the backoff of the engine's fault rules.
 */
import { about } from "#core/backoff.ts";
import type { Secret } from "#core/secret.ts";
import { type Clock, minuteMs, secondMs } from "#core/time.ts";
import { type PoisonGuard, quarantined, quarantineReason } from "#engine/poison-guard.ts";
import type { NoticeEvent } from "#events/webhook/notice.ts";
import { contentOf } from "#events/webhook/webhook-message.ts";
import type { Delivery as Sent, WebhookSender } from "#events/webhook/webhook.ts";
import type { Webhook } from "#fleet/webhook.ts";
import type { DeliveryLog, TryEnd } from "./delivery-log.ts";
import { type Delivery, deliveryIdOf, earlyMs } from "./record.ts";
import type { WorkResult } from "#engine/queue/job-result.ts";

/** A delivery, as a queue carries it: never the message. */
export interface DeliveryReference {
  readonly webhook: string;
  readonly eventId: string;
}

/** Current address and signing secrets of a webhook. */
export interface WebhookEndpoint {
  readonly webhook: Webhook;
  readonly url: string;
  readonly secrets: readonly Secret[];
}

export interface DeliveryContext {
  readonly log: DeliveryLog;
  readonly sender: Pick<WebhookSender, "send">;
  readonly clock: Clock;
  readonly guard: Pick<PoisonGuard, "run">;
  /** Undefined if no webhook with this name is configured. */
  readonly endpointOf: (webhook: string) => WebhookEndpoint | undefined;
}

const hourMs = 60 * minuteMs;
/** Delays between attempts, as the specification recommends: about 28 hours in all. */
const delaysMs = [5 * secondMs, 5 * minuteMs, 30 * minuteMs, 2 * hourMs, 5 * hourMs, 10 * hourMs, 10 * hourMs] as const;
/** Upper limit for a wait that the receiver requests. */
const longestWaitMs = 12 * hourMs;
const gone = 410;
const asksToWait: ReadonlySet<number> = new Set([429, 503]);

/** Attempts a delivery, unless it has ended. */
export async function deliverEvent(
  reference: DeliveryReference,
  context: DeliveryContext,
  signal: AbortSignal,
): Promise<WorkResult> {
  const { log, clock } = context;
  const { webhook, eventId } = reference;
  if (signal.aborted) return { kind: "handed-back" };
  const delivery = await log.delivery(deliveryIdOf(webhook, eventId));
  if (delivery === undefined) await log.forget(reference);
  const endpoint = context.endpointOf(webhook);
  if (delivery?.state !== "pending" || endpoint === undefined) return { kind: "ended" };
  if ((await log.status(webhook)).state === "stopped") return { kind: "ended" };
  const waitMs = earlyMs(delivery, clock.wallMs());
  if (waitMs > 0) return postponed(waitMs, delivery);
  const tried = await context.guard.run(`delivery ${delivery.deliveryId}`, async () => {
    const end = endOf(await sendOnce(delivery.event, endpoint, context), delivery, clock.wallMs());
    return { end, noted: await log.noteTry(delivery, end) };
  });
  if (tried === quarantined) {
    await log.noteTry(delivery, { kind: "failed", reason: quarantineReason });
    return { kind: "ended" };
  }
  const { end, noted } = tried;
  if (end.kind !== "again" || noted === "over") return { kind: "ended" };
  return postponed((end.nextAttemptAtMs ?? 0) - clock.wallMs(), delivery);
}

/** Sends a message about an event to an endpoint once, without retries. */
export function sendOnce(
  event: NoticeEvent & { readonly id: string },
  { webhook, url, secrets }: WebhookEndpoint,
  { sender }: Pick<DeliveryContext, "sender">,
): Promise<Sent> {
  return sender.send({
    ...contentOf(event, webhook.format),
    url,
    secrets,
    id: `msg_${event.id}`,
    deadlineMs: webhook.timeoutMs,
    reach: webhook.allowPrivate ? "anywhere" : "public",
  });
}

/** Describes the result of an attempt, for display. */
export function wordsFor(sent: Sent): string {
  if (sent.kind === "unanswered") return sent.reason;
  return sent.status === gone ? "it answered 410 Gone" : `it answered ${sent.status}`;
}

function endOf(sent: Sent, { tries }: Delivery, nowMs: number): TryEnd {
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

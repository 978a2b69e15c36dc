/** The events of webhooks. */
import type { Events } from "#events/event.ts";

const ofDelivery = {
  webhook: "its name",
  delivery: "the message",
  event: "type of the event in the message",
} as const;

export const events = {
  "webhook.failed": {
    when: "A message was retried for about a day and never accepted; or three workers died while they sent it; or so many wait that the oldest are dropped, which is emitted at most once an hour. Not emitted for messages about a webhook itself.",
    sentence: "The webhook {webhook} did not accept a message[: {reason}]",
    advice: "Send it again with: simfleet webhooks deliveries redeliver {delivery}",
    needsAttention: true,
    fields: { ...ofDelivery, reason: "result of the last attempt" },
  },
  "webhook.failing": {
    when: "Three attempts in a row to send messages to a webhook failed; attempts continue. Not sent to the webhook itself.",
    sentence: "The webhook {webhook} is failing[: {reason}]",
    advice: "Check its endpoint; simfleet retries automatically.",
    needsAttention: true,
    fields: { ...ofDelivery, reason: "result of the last attempt" },
  },
  "webhook.recovered": {
    when: "A failing webhook accepted a message.",
    sentence: "The webhook {webhook} accepts messages again",
    fields: { ...ofDelivery, reason: "result of the attempt" },
  },
  "webhook.stopped": {
    when: "An endpoint returned 410 Gone: nothing is sent to it until `simfleet webhooks resume`.",
    sentence: "The webhook {webhook} was stopped[: {reason}]",
    advice: "Resume it with: simfleet webhooks resume {webhook}",
    needsAttention: true,
    fields: { ...ofDelivery, reason: "why" },
  },
} as const satisfies Events;

export const eventKinds = { webhook: "Webhooks" } as const;

declare module "#events/event.ts" {
  interface EventTypes extends Readonly<Record<keyof typeof events, true>> {}
}

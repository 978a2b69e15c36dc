/** The texts of the commands of webhooks and their messages. */
import { grouped } from "#cli/format.ts";

export const webhooksSummary = "webhook endpoints and their delivery status";
export const deliveriesSummary = "webhook messages and their delivery status";

/** The commands `simfleet webhooks …`. */
export const webhooksStrings = {
  webhook: "name of the webhook",
  list: "list the configured webhooks and their status",
  none: "No webhooks. Add them under `webhooks` in the configuration (docs/webhooks.md).",
  headings: { webhook: "webhook", address: "address", last: "last" },
  stopped: (name: string, reason: string | null) => `${name} is stopped: ${reason ?? "unknown reason"}`,
  dropped: (messages: number, name: string) =>
    `${grouped(messages)} messages to ${name} were dropped to make room for newer ones: it does not accept them in time.`,
  test: "send a test message now and print the result",
  accepted: (webhook: string, messageId: string, status: number | null) =>
    `${webhook} accepted ${messageId} with ${status}.`,
  notAccepted: (webhook: string, messageId: string, reason: string | null) =>
    `${webhook} did not accept ${messageId}: ${reason}`,
  resume: "resume a webhook stopped by 410 Gone and send the backlog",
  noWorker: "No worker is running: the messages are sent by the next one.",
} as const;

/** The commands `simfleet deliveries …`. */
export const deliveriesStrings = {
  delivery: "ID of the message",
  list: "list messages, newest event first",
  webhook: "only messages to this webhook",
  state: "only messages in this state",
  none: "No messages.",
  headings: {
    delivery: "delivery",
    event: "event",
    attempts: "tries",
    created: "created",
    nextAttempt: "next try",
    lastAttempt: "last try",
  },
  show: "show one message and its event",
  redeliver: "resend a message with the same ID, through a worker",
  resending: (deliveryId: string) => `Resending ${deliveryId}.`,
  noWorker: "No worker is running: the message is sent by the next one (simfleet worker)",
} as const;

/** The routes of webhooks, and of what was delivered to them. */
import { z } from "zod";
import { count, id, instant, list, listRoute, ofPage, pageOf } from "#contract/fields.ts";
import { getRoute, postRoute } from "#contract/route.ts";
import { eventDocument } from "#events/contract.ts";
import { webhookFormats } from "#fleet/webhook.ts";

export const deliveryStates = ["pending", "delivered", "failed"] as const;

export const deliveryReport = z.object({
  deliveryId: z.string(),
  webhook: z.string(),
  eventId: z.string(),
  eventType: z.string(),
  state: z.enum(deliveryStates),
  attempts: count,
  lastStatus: count.nullable().describe("HTTP status of the last attempt"),
  lastReason: z.string().nullable(),
  createdAt: instant,
  finishedAt: instant.nullable(),
  nextAttemptAt: instant.nullable(),
});

export type DeliveryReport = Readonly<z.infer<typeof deliveryReport>>;

const deliveryDocument = deliveryReport.extend({ event: eventDocument });

export const webhookReport = z.object({
  name: z.string(),
  url: z.string().describe("scheme and host alone"),
  events: list(z.string()),
  profile: z.string().nullable(),
  format: z.enum(webhookFormats),
  state: z
    .enum(["active", "failing", "stopped"])
    .describe("failing: three attempts in a row failed; active again after one that succeeds"),
  reason: z.string().nullable().describe("why it is failing or stopped"),
  pending: count.describe("pending deliveries"),
  dropped: count.describe("pending deliveries that were dropped so far to make room for newer ones"),
  lastDelivery: deliveryReport.nullable(),
});

export type WebhookReport = Readonly<z.infer<typeof webhookReport>>;

export const testReport = z.object({
  webhook: z.string(),
  messageId: z.string(),
  accepted: z.boolean(),
  status: count.nullable(),
  reason: z.string().nullable(),
});

export type TestReport = Readonly<z.infer<typeof testReport>>;

const deliveryId = id.meta({ example: "ops.1795987144382-0" });
const ofWebhook = { tag: "webhooks", params: z.strictObject({ name: id.meta({ example: "ops" }) }) } as const;
const ofDelivery = { tag: "webhooks", params: z.strictObject({ deliveryId }), answer: deliveryDocument } as const;

export const listWebhooks = listRoute(
  "webhooks",
  webhookReport,
  "List webhooks: state, pending messages, last delivery",
);

export const testWebhook = postRoute({
  ...ofWebhook,
  path: "/webhooks/:name/test",
  did: "tested the webhook",
  summary: "Send a test message and return the result",
  answer: testReport,
});

export const resumeWebhook = postRoute({
  ...ofWebhook,
  path: "/webhooks/:name/resume",
  did: "resumed the webhook",
  summary: "Resume a stopped webhook",
  answer: webhookReport,
});

export const listDeliveries = getRoute({
  path: "/deliveries",
  tag: "webhooks",
  summary: "List deliveries, newest event first",
  query: z.strictObject({ ...ofPage, webhook: id.optional(), state: z.enum(deliveryStates).optional() }),
  answer: pageOf("deliveries", deliveryReport),
});

export const showDelivery = getRoute({
  ...ofDelivery,
  path: "/deliveries/:deliveryId",
  summary: "Get a delivery with its event",
});

export const redeliver = postRoute({
  ...ofDelivery,
  path: "/deliveries/:deliveryId/redeliver",
  did: "sent the message again",
  summary: "Resend a message with the same message ID",
});

/** Webhooks, and what was delivered to them. */
import { z } from "zod";
import { eventDocument } from "#events/contract.ts";
import { webhookFormats } from "#fleet/webhook.ts";
import type { DeliveryDocument, DeliveryReport, TestReport, WebhookReport } from "#jobs/webhooks/report.ts";
import type { Api, ControlDeps } from "../deps.ts";
import { count, id, instant, list, noBody, nothing, ofPage, pageOf, shapeOf } from "#contract/fields.ts";

const deliveryStates = ["pending", "delivered", "failed"] as const satisfies DeliveryReport["state"][];

const ofDelivery = {
  deliveryId: z.string(),
  webhook: z.string(),
  eventId: z.string(),
  eventType: z.string(),
  state: z.enum(deliveryStates),
  attempts: count,
  lastStatus: count.nullable(),
  lastReason: z.string().nullable(),
  createdAt: instant,
  finishedAt: instant.nullable(),
  nextAttemptAt: instant.nullable(),
} as const;
const deliveryReport = shapeOf<DeliveryReport>()(ofDelivery);
const deliveryDocument = shapeOf<DeliveryDocument>()({ ...ofDelivery, event: eventDocument });

const webhookReport = shapeOf<WebhookReport>()({
  name: z.string(),
  url: z.string().describe("scheme and host alone"),
  events: list(z.string()),
  profile: z.string().nullable(),
  format: z.enum(webhookFormats),
  state: z.enum(["active", "stopped"]),
  reason: z.string().nullable(),
  pending: count,
  dropped: count,
  lastDelivery: deliveryReport.nullable(),
});

const testReport = shapeOf<TestReport>()({
  webhook: z.string(),
  messageId: z.string(),
  accepted: z.boolean(),
  status: count.nullable(),
  reason: z.string().nullable(),
});

const tags = ["webhooks"];
const ofWebhook = z.strictObject({ name: id });

export function webhookRoutes(api: Api, deps: ControlDeps): void {
  const { webhooks } = deps.app;
  api.get(
    "/webhooks",
    {
      config: { role: "viewer" },
      schema: {
        ...{ summary: "List webhooks: state, pending messages, last delivery", tags },
        ...{ querystring: nothing, response: { 200: pageOf("webhooks", webhookReport) } },
      },
    },
    async () => ({ webhooks: await webhooks.list(), nextCursor: null }),
  );
  api.post(
    "/webhooks/:name/test",
    {
      config: { role: "operator" },
      schema: {
        ...{ summary: "Send a test message and return the result", tags },
        ...{ params: ofWebhook, querystring: nothing, body: noBody, response: { 200: testReport } },
      },
    },
    async ({ params }) => webhooks.test(params.name),
  );
  api.post(
    "/webhooks/:name/resume",
    {
      config: { role: "operator" },
      schema: {
        ...{ summary: "Resume a stopped webhook", tags },
        ...{ params: ofWebhook, querystring: nothing, body: noBody, response: { 200: webhookReport } },
      },
    },
    async ({ params }) => webhooks.resume(params.name),
  );
  addDeliveries(api, deps);
}

function addDeliveries(api: Api, { app }: ControlDeps): void {
  api.get(
    "/deliveries",
    {
      config: { role: "viewer" },
      schema: {
        ...{ summary: "List deliveries, newest event first", tags },
        querystring: z.strictObject({ ...ofPage, webhook: id.optional(), state: z.enum(deliveryStates).optional() }),
        response: { 200: pageOf("deliveries", deliveryReport) },
      },
    },
    async ({ query: { limit, cursor, webhook, state } }) =>
      app.webhooks.deliveries({ webhook, state }, { limit, cursor }),
  );
  const one = z.strictObject({ deliveryId: id });
  api.get(
    "/deliveries/:deliveryId",
    {
      config: { role: "viewer" },
      schema: {
        ...{ summary: "Get a delivery with its event", tags },
        ...{ params: one, querystring: nothing, response: { 200: deliveryDocument } },
      },
    },
    async ({ params }) => app.webhooks.delivery(params.deliveryId),
  );
  api.post(
    "/deliveries/:deliveryId/redeliver",
    {
      config: { role: "operator" },
      schema: {
        ...{ summary: "Resend a message with the same message id", tags },
        ...{ params: one, querystring: nothing, body: noBody, response: { 200: deliveryDocument } },
      },
    },
    async ({ params }) => app.webhooks.redeliver(params.deliveryId),
  );
}

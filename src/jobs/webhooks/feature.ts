/** Webhooks and the deliveries of their messages. */
import { logIncidents } from "#app/feature.ts";
import type { Feature } from "#cli/feature.ts";

const webhooksSummary = "webhook endpoints and their delivery status";
const deliveriesSummary = "webhook messages and their delivery status";

export const webhooks: Feature = {
  name: "webhooks",
  endpoints: async (app) => (await import("./endpoints.ts")).webhookEndpoints(app.webhooks),
  work: async (app, { logger }) => [await app.consumeDeliveries(logIncidents(logger, { job: "deliver" }))],
  commands: {
    webhooks: {
      group: "follow",
      summary: webhooksSummary,
      load: async (context) => (await import("./commands/webhooks.ts")).webhooksCommand(context),
    },
    deliveries: {
      group: "follow",
      summary: deliveriesSummary,
      load: async (context) => (await import("./commands/deliveries.ts")).deliveriesCommand(context),
    },
  },
  stores: { "webhooks test": "makes" },
  effects: {
    "webhooks list": "reads",
    // It sends a message.
    "webhooks test": "changes",
    "webhooks resume": "changes",
    "deliveries list": "reads",
    "deliveries show": "reads",
    "deliveries redeliver": "changes",
  },
};

/** Webhooks and the deliveries of their messages. */
import { feature } from "#cli/feature.ts";
import { events } from "./events.ts";
import { logIncidents } from "#kernel/feature.ts";

export const webhooks = feature({
  name: "webhooks",
  data: { deliveries: ["webhook"] },
  audit: "webhooks",
  kept: ({ retention }) => ({ deliveries: retention.deliveryDays }),
  events,
  section: async () => (await import("./config.ts")).webhooksSection,
  open: async (kernel, _, endpoints) => {
    const { openWebhooks } = await import("./open.ts");
    const { service, consume } = openWebhooks(kernel, endpoints);
    return {
      service,
      routes: () => service.endpoints(),
      work: () => consume(logIncidents(kernel.logger, { job: "deliver" })),
      readings: async () =>
        (await service.list()).flatMap(({ name: webhook, pending, dropped, state }) => [
          { metric: "deliveries", value: pending, labels: { webhook } },
          { metric: "dropped", value: dropped, labels: { webhook } },
          { metric: "webhookFailing", value: Number(state === "failing"), labels: { webhook } },
          { metric: "webhookStopped", value: Number(state === "stopped"), labels: { webhook } },
        ]),
    };
  },
  commands: {
    webhooks: {
      group: "follow",
      summary: "Manage webhooks and their deliveries",
      load: async (context) => (await import("./commands.ts")).webhooksCommand(context),
    },
  },
  stores: { "webhooks test": "makes" },
});

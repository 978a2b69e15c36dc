/** `simfleet webhooks …`: the endpoints that receive events, and their deliveries, the messages to them. */
import { Command } from "@commander-js/extra-typings";
import { type Context, choiceOption, withCaller } from "#cli/context.ts";
import { grouped } from "#core/grouped.ts";
import { fieldsText, listCommand, listing, listOf, listText, withPageOptions } from "#cli/list.ts";
import type { App } from "#kernel/app.ts";
import * as routes from "./contract.ts";
import { webhooks } from "./feature.ts";

export function webhooksCommand(context: Context): Command {
  return new Command("webhooks")
    .addCommand(listCommand(context, "webhooks", webhookList, "List the configured webhooks and their status"), {
      isDefault: true,
    })
    .addCommand(testCommand(context))
    .addCommand(resumeCommand(context))
    .addCommand(deliveriesCommand(context));
}

function testCommand(context: Context): Command {
  const command = new Command("test")
    .description("Send a test message now and print the result")
    .argument("<name>", "name of the webhook");
  return withCaller(context, command, "simfleet webhooks test ops", async ({ client, output }, name) => {
    const report = await client.call(routes.testWebhook, { params: { name } });
    output.answer(report, ({ webhook, accepted, status, reason, messageId }) =>
      accepted
        ? `${webhook} accepted ${messageId} with ${status}.`
        : `${webhook} did not accept ${messageId}: ${reason}`,
    );
    if (!report.accepted) context.io.setExitCode(1);
  });
}

function resumeCommand(context: Context): Command {
  const command = new Command("resume")
    .description("Resume a webhook stopped by 410 Gone and send the backlog")
    .argument("<name>", "name of the webhook");
  return withCaller(context, command, "simfleet webhooks resume ops", async ({ client, app, output }, name) => {
    const report = await client.call(routes.resumeWebhook, { params: { name } });
    output.answer(report, (shown, terminal) => listText([shown], webhookList, { terminal }));
    if (!(await isServed(app, name))) output.say("No worker is running: the messages are sent by the next one.");
  });
}

const webhookList = listOf("webhooks", routes.listWebhooks, {
  empty: "No webhooks. Add them under `webhooks` in the configuration (docs/webhooks.md).",
  columns: [
    { name: "name", heading: "webhook" },
    { name: "url", heading: "address" },
    { name: "format" },
    { name: "events", value: ({ events }) => events.join(" ") },
    { name: "state" },
    { name: "pending" },
    {
      name: "lastDelivery",
      heading: "last",
      value: ({ lastDelivery }) => (lastDelivery === null ? "-" : `${lastDelivery.eventType} ${lastDelivery.state}`),
    },
  ],
  below: (listed) => [
    ...listed
      .filter(({ state }) => state !== "active")
      .map(({ name, state, reason }) => `${name} is ${state}: ${reason ?? "unknown reason"}`),
    ...listed
      .filter(({ dropped }) => dropped > 0)
      .map(
        ({ name, dropped }) =>
          `${grouped(dropped)} messages to ${name} were dropped to make room for newer ones: it does not accept them in time.`,
      ),
  ],
});

function deliveriesCommand(context: Context): Command {
  return new Command("deliveries")
    .description("List, show and resend the messages to webhooks")
    .addCommand(listDeliveriesCommand(context), { isDefault: true })
    .addCommand(showCommand(context))
    .addCommand(redeliverCommand(context));
}

function listDeliveriesCommand(context: Context): Command {
  const command = new Command("list")
    .description("List messages, newest event first")
    .option("--webhook <name>", "only messages to this webhook")
    .addOption(choiceOption("--state <state>", "only messages in this state", routes.deliveryStates));
  const example = "simfleet webhooks deliveries list --webhook ops --state failed";
  return withCaller(context, withPageOptions(command), example, listing(deliveryList));
}

function showCommand(context: Context): Command {
  const command = new Command("show")
    .description("Show one message and its event")
    .argument("<delivery>", "ID of the message");
  const example = "simfleet webhooks deliveries show ops.1790000000000-0";
  return withCaller(context, command, example, async ({ client, output }, deliveryId) => {
    const shown = await client.call(routes.showDelivery, { params: { deliveryId } });
    output.answer(shown, ({ event, ...delivery }) =>
      fieldsText({ ...delivery, at: event.at, profile: event.profile, ...event.fields }),
    );
  });
}

function redeliverCommand(context: Context): Command {
  const command = new Command("redeliver")
    .description("Resend a message with the same ID, through a worker")
    .argument("<delivery>", "ID of the message");
  const example = "simfleet webhooks deliveries redeliver ops.1790000000000-0";
  return withCaller(context, command, example, async ({ client, app, output }, deliveryId) => {
    const sent = await client.call(routes.redeliver, { params: { deliveryId } });
    output.answer(sent, (shown) => `Resending ${shown.deliveryId}.`);
    if (await isServed(app, sent.webhook)) return;
    output.say("No worker is running: the message is sent by the next one (simfleet worker)");
  });
}

const deliveryList = listOf("deliveries", routes.listDeliveries, {
  empty: "No messages.",
  columns: [
    { name: "deliveryId", heading: "delivery" },
    { name: "eventType", heading: "event" },
    { name: "state" },
    { name: "attempts", heading: "tries" },
    { name: "createdAt", heading: "created" },
    { name: "nextAttemptAt", heading: "next try" },
    { name: "lastReason", heading: "last try" },
  ],
});

/** Whether a worker delivers to the webhook; a remote one does. */
async function isServed(app: App | undefined, webhook: string): Promise<boolean> {
  return app === undefined || app.service(webhooks).isServed(webhook);
}

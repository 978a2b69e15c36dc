/** `simfleet deliveries …`: messages to webhooks and their delivery status. */
import { webhooks } from "../feature.ts";
import { Command } from "@commander-js/extra-typings";
import * as routes from "../contract.ts";
import { type DeliveryDocument, type DeliveryReport, deliveryStates } from "../contract.ts";
import { type Context, choiceOption, withCommon } from "#cli/context.ts";
import { answerList, type List, withPageOptions } from "#cli/list.ts";

export function deliveriesCommand(context: Context): Command {
  return new Command("deliveries")
    .addCommand(listCommand(context))
    .addCommand(showCommand(context))
    .addCommand(redeliverCommand(context));
}

function listCommand(context: Context): Command {
  const command = new Command("list")
    .description("list messages, newest event first")
    .option("--webhook <name>", "only messages to this webhook")
    .addOption(choiceOption("--state <state>", "only messages in this state", deliveryStates));
  return withCommon(withPageOptions(command), "simfleet deliveries list --webhook ops --state failed").action(
    async (options) => {
      const output = context.output(options);
      const { webhook, state, limit, cursor } = options;
      const query = { webhook, state, limit, cursor };
      const page = await context.connect(options, ({ client }) => client.call(routes.listDeliveries, { query }));
      answerList(output, page, deliveryList, options);
    },
  );
}

function showCommand(context: Context): Command {
  const command = new Command("show")
    .description("show one message and its event")
    .argument("<delivery>", "ID of the message");
  return withCommon(command, "simfleet deliveries show ops.1790000000000-0").action(async (deliveryId, options) => {
    const output = context.output(options);
    const shown = await context.connect(options, ({ client }) =>
      client.call(routes.showDelivery, { params: { deliveryId } }),
    );
    output.answer(shown, deliveryText);
  }) as unknown as Command;
}

function redeliverCommand(context: Context): Command {
  const command = new Command("redeliver")
    .description("resend a message with the same ID, through a worker")
    .argument("<delivery>", "ID of the message");
  return withCommon(command, "simfleet deliveries redeliver ops.1790000000000-0").action(
    async (deliveryId, options) => {
      const output = context.output(options);
      await context.connect(options, async ({ client, app }) => {
        const sent = await client.call(routes.redeliver, { params: { deliveryId } });
        output.answer(sent, (shown) => `Resending ${shown.deliveryId}.`);
        // A remote worker delivers itself.
        const isServed = app === undefined || (await app.service(webhooks).isServed(sent.webhook));
        if (!isServed) output.say("No worker is running: the message is sent by the next one (simfleet worker)");
      });
    },
  ) as unknown as Command;
}

const deliveryList: List<"deliveries", DeliveryReport> = {
  name: "deliveries",
  route: routes.listDeliveries,
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
};

function deliveryText({ event, ...delivery }: DeliveryDocument): string {
  const about = { ...delivery, at: event.at, profile: event.profile, ...event.fields };
  const shown = Object.entries(about).filter(([, value]) => value !== null);
  const width = Math.max(...shown.map(([name]) => name.length));
  return shown.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join("\n");
}

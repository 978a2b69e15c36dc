/** `simfleet deliveries …`: messages to webhooks and their delivery status. */
import { Command } from "@commander-js/extra-typings";
import * as routes from "../contract.ts";
import { type DeliveryDocument, type DeliveryReport, deliveryStates } from "../contract.ts";
import { type Context, choiceOption, withCommon } from "#cli/context.ts";
import { answerList, type List, withPageOptions } from "#cli/list.ts";
import { deliveriesStrings } from "../strings.ts";

export function deliveriesCommand(context: Context): Command {
  return new Command("deliveries")
    .addCommand(listCommand(context))
    .addCommand(showCommand(context))
    .addCommand(redeliverCommand(context));
}

function listCommand(context: Context): Command {
  const command = new Command("list")
    .description(deliveriesStrings.list)
    .option("--webhook <name>", deliveriesStrings.webhook)
    .addOption(choiceOption("--state <state>", deliveriesStrings.state, deliveryStates));
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
    .description(deliveriesStrings.show)
    .argument("<delivery>", deliveriesStrings.delivery);
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
    .description(deliveriesStrings.redeliver)
    .argument("<delivery>", deliveriesStrings.delivery);
  return withCommon(command, "simfleet deliveries redeliver ops.1790000000000-0").action(
    async (deliveryId, options) => {
      const output = context.output(options);
      await context.connect(options, async ({ client, app }) => {
        const sent = await client.call(routes.redeliver, { params: { deliveryId } });
        output.answer(sent, (shown) => deliveriesStrings.resending(shown.deliveryId));
        // A remote worker delivers itself.
        const isServed = app === undefined || (await app.webhooks.isServed(sent.webhook));
        if (!isServed) output.say(deliveriesStrings.noWorker);
      });
    },
  ) as unknown as Command;
}

const deliveryList: List<"deliveries", DeliveryReport> = {
  name: "deliveries",
  route: routes.listDeliveries,
  empty: deliveriesStrings.none,
  columns: [
    { name: "deliveryId", heading: deliveriesStrings.headings.delivery },
    { name: "eventType", heading: deliveriesStrings.headings.event },
    { name: "state" },
    { name: "attempts", heading: deliveriesStrings.headings.attempts },
    { name: "createdAt", heading: deliveriesStrings.headings.created },
    { name: "nextAttemptAt", heading: deliveriesStrings.headings.nextAttempt },
    { name: "lastReason", heading: deliveriesStrings.headings.lastAttempt },
  ],
};

function deliveryText({ event, ...delivery }: DeliveryDocument): string {
  const about = { ...delivery, at: event.at, profile: event.profile, ...event.fields };
  const shown = Object.entries(about).filter(([, value]) => value !== null);
  const width = Math.max(...shown.map(([name]) => name.length));
  return shown.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join("\n");
}

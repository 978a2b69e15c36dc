/** `simfleet webhooks …`: endpoints that receive events. */
import { webhooks } from "../feature.ts";
import { Command } from "@commander-js/extra-typings";
import * as routes from "../contract.ts";
import type { TestReport, WebhookReport } from "../contract.ts";
import { type Context, withCommon } from "#cli/context.ts";
import { answerList, type List, listText, withListOptions } from "#cli/list.ts";
import { grouped } from "#cli/format.ts";

export function webhooksCommand(context: Context): Command {
  return new Command("webhooks")
    .addCommand(listCommand(context))
    .addCommand(testCommand(context))
    .addCommand(resumeCommand(context));
}

function listCommand(context: Context): Command {
  const command = withListOptions(new Command("list").description("list the configured webhooks and their status"));
  return withCommon(command, "simfleet webhooks list").action(async (options) => {
    const output = context.output(options);
    const page = await context.connect(options, ({ client }) => client.call(routes.listWebhooks));
    answerList(output, page, webhookList, options);
  });
}

function testCommand(context: Context): Command {
  const command = new Command("test")
    .description("send a test message now and print the result")
    .argument("<name>", "name of the webhook");
  return withCommon(command, "simfleet webhooks test ops").action(async (name, options) => {
    const output = context.output(options);
    const report = await context.connect(options, ({ client }) =>
      client.call(routes.testWebhook, { params: { name } }),
    );
    output.answer(report, (shown) => testText(shown));
    if (!report.accepted) context.io.setExitCode(1);
  }) as unknown as Command;
}

function resumeCommand(context: Context): Command {
  const command = new Command("resume")
    .description("resume a webhook stopped by 410 Gone and send the backlog")
    .argument("<name>", "name of the webhook");
  return withCommon(command, "simfleet webhooks resume ops").action(async (name, options) => {
    const output = context.output(options);
    await context.connect(options, async ({ client, app }) => {
      const report = await client.call(routes.resumeWebhook, { params: { name } });
      output.answer(report, (shown) => listText([shown], webhookList));
      // A remote worker delivers itself.
      const isServed = app === undefined || (await app.service(webhooks).isServed(name));
      if (!isServed) output.say("No worker is running: the messages are sent by the next one.");
    });
  }) as unknown as Command;
}

const webhookList: List<"webhooks", WebhookReport> = {
  name: "webhooks",
  route: routes.listWebhooks,
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
      .filter(({ state }) => state === "stopped")
      .map(({ name, reason }) => `${name} is stopped: ${reason ?? "unknown reason"}`),
    ...listed
      .filter(({ dropped }) => dropped > 0)
      .map(
        ({ name, dropped }) =>
          `${grouped(dropped)} messages to ${name} were dropped to make room for newer ones: it does not accept them in time.`,
      ),
  ],
};

function testText({ webhook, accepted, status, reason, messageId }: TestReport): string {
  return accepted
    ? `${webhook} accepted ${messageId} with ${status}.`
    : `${webhook} did not accept ${messageId}: ${reason}`;
}

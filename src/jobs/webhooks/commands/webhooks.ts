/** `simfleet webhooks …`: endpoints that receive events. */
import { Command } from "@commander-js/extra-typings";
import * as routes from "../contract.ts";
import type { TestReport, WebhookReport } from "../contract.ts";
import { type Context, withCommon } from "#cli/context.ts";
import { answerList, type List, listText, withListOptions } from "#cli/list.ts";
import { webhooksStrings } from "../strings.ts";

export function webhooksCommand(context: Context): Command {
  return new Command("webhooks")
    .addCommand(listCommand(context))
    .addCommand(testCommand(context))
    .addCommand(resumeCommand(context));
}

function listCommand(context: Context): Command {
  const command = withListOptions(new Command("list").description(webhooksStrings.list));
  return withCommon(command, "simfleet webhooks list").action(async (options) => {
    const output = context.output(options);
    const page = await context.connect(options, ({ client }) => client.call(routes.listWebhooks));
    answerList(output, page, webhookList, options);
  });
}

function testCommand(context: Context): Command {
  const command = new Command("test").description(webhooksStrings.test).argument("<name>", webhooksStrings.webhook);
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
  const command = new Command("resume").description(webhooksStrings.resume).argument("<name>", webhooksStrings.webhook);
  return withCommon(command, "simfleet webhooks resume ops").action(async (name, options) => {
    const output = context.output(options);
    await context.connect(options, async ({ client, app }) => {
      const report = await client.call(routes.resumeWebhook, { params: { name } });
      output.answer(report, (shown) => listText([shown], webhookList));
      // A remote worker delivers itself.
      const isServed = app === undefined || (await app.webhooks.isServed(name));
      if (!isServed) output.say(webhooksStrings.noWorker);
    });
  }) as unknown as Command;
}

const webhookList: List<"webhooks", WebhookReport> = {
  name: "webhooks",
  route: routes.listWebhooks,
  empty: webhooksStrings.none,
  columns: [
    { name: "name", heading: webhooksStrings.headings.webhook },
    { name: "url", heading: webhooksStrings.headings.address },
    { name: "format" },
    { name: "events", value: ({ events }) => events.join(" ") },
    { name: "state" },
    { name: "pending" },
    {
      name: "lastDelivery",
      heading: webhooksStrings.headings.last,
      value: ({ lastDelivery }) => (lastDelivery === null ? "-" : `${lastDelivery.eventType} ${lastDelivery.state}`),
    },
  ],
  below: (webhooks) => [
    ...webhooks
      .filter(({ state }) => state === "stopped")
      .map(({ name, reason }) => webhooksStrings.stopped(name, reason)),
    ...webhooks.filter(({ dropped }) => dropped > 0).map(({ name, dropped }) => webhooksStrings.dropped(dropped, name)),
  ],
};

function testText({ webhook, accepted, status, reason, messageId }: TestReport): string {
  return accepted
    ? webhooksStrings.accepted(webhook, messageId, status)
    : webhooksStrings.notAccepted(webhook, messageId, reason);
}

/** `simfleet webhooks …`: endpoints that receive events. */
import { Command } from "@commander-js/extra-typings";
import * as routes from "../contract.ts";
import type { TestReport, WebhookReport } from "../contract.ts";
import { type Context, withCommon } from "#cli/context.ts";
import { grouped, table } from "#cli/output.ts";

export function webhooksCommand(context: Context): Command {
  return new Command("webhooks")
    .addCommand(listCommand(context))
    .addCommand(testCommand(context))
    .addCommand(resumeCommand(context));
}

function listCommand(context: Context): Command {
  const command = new Command("list").description("list the configured webhooks and their status");
  return withCommon(command, "simfleet webhooks list").action(async (options) => {
    const output = context.output(options);
    const page = await context.connect(options, ({ client }) => client.call(routes.listWebhooks));
    output.answer(page, (shown) => webhookTable(shown.webhooks));
  });
}

function testCommand(context: Context): Command {
  const command = new Command("test")
    .description("send a test message now and print the result")
    .argument("<name>", "the webhook");
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
    .argument("<name>", "the webhook");
  return withCommon(command, "simfleet webhooks resume ops").action(async (name, options) => {
    const output = context.output(options);
    await context.connect(options, async ({ client, app }) => {
      const report = await client.call(routes.resumeWebhook, { params: { name } });
      output.answer(report, (shown) => webhookTable([shown]));
      // A remote worker delivers itself.
      const isServed = app === undefined || (await app.webhooks.isServed(name));
      if (!isServed) output.say("No worker is running: the messages are sent by the next one.");
    });
  }) as unknown as Command;
}

function webhookTable(webhooks: readonly WebhookReport[]): string {
  if (webhooks.length === 0) return "No webhook is configured (webhooks: in the configuration).";
  const rows = webhooks.map(({ name, url, events, format, state, pending, lastDelivery }) => [
    ...[name, url, format, events.join(" "), state],
    pending,
    lastDelivery === null ? "-" : `${lastDelivery.eventType} ${lastDelivery.state}`,
  ]);
  const stopped = webhooks.filter(({ state }) => state === "stopped");
  const words = stopped.map(({ name, reason }) => `\n${name} is stopped: ${reason ?? "no reason is known"}`);
  for (const { name, dropped } of webhooks.filter((one) => one.dropped > 0)) {
    words.push(
      `\n${grouped(dropped)} messages to ${name} were dropped to make room for newer ones: it does not accept them in time.`,
    );
  }
  return `${table(["WEBHOOK", "ADDRESS", "FORMAT", "EVENTS", "STATE", "PENDING", "LAST"], rows)}${words.join("")}`;
}

function testText({ webhook, accepted, status, reason, messageId }: TestReport): string {
  return accepted
    ? `${webhook} accepted ${messageId} with ${status}.`
    : `${webhook} did not accept ${messageId}: ${reason}`;
}

/** `simfleet freeze …`: stops everything that changes the platform. */
import { Command } from "@commander-js/extra-typings";
import * as routes from "./contract.ts";
import type { FreezeReport } from "./contract.ts";
import { type Context, withCaller, yesOption } from "#cli/context.ts";
import { counted } from "#cli/format.ts";
import { asFuture } from "#cli/values.ts";

export function freezeCommand(context: Context): Command {
  return new Command("freeze")
    .addCommand(onCommand(context))
    .addCommand(offCommand(context))
    .addCommand(statusCommand(context), { isDefault: true });
}

function onCommand(context: Context): Command {
  const command = new Command("on")
    .description("Freeze all changes; calls in flight are completed")
    .option("--reason <text>", "reason, shown with the freeze")
    .addOption(yesOption())
    .option("--until <time>", "when the freeze ends: after 2h, or at a date or time", asFuture);
  const example = "simfleet freeze on --reason 'incident 12' --yes";
  return withCaller(context, command, example, async ({ client, output }, options) => {
    const { reason = "", until } = options;
    const { runs } = await client.call(routes.showFreeze);
    const question = `Freeze all changes of every profile? It pauses ${counted(runs, "run")} in progress.`;
    if (!(await context.isConfirmed(options, question, "frozen"))) return 2;
    output.answer(await client.call(routes.startFreeze, { body: { reason, until } }), describeFreezes);
    return 0;
  });
}

function offCommand(context: Context): Command {
  const command = new Command("off").description("End the freeze; freezes in the configuration still apply");
  return withCaller(context, command, "simfleet freeze off", async ({ client, output }) =>
    output.answer(await client.call(routes.endFreeze), describeFreezes),
  );
}

function statusCommand(context: Context): Command {
  const command = new Command("status").description("Show whether changes are frozen, and why");
  return withCaller(context, command, "simfleet freeze status", async ({ client, output }) =>
    output.answer(await client.call(routes.showFreeze), describeFreezes),
  );
}

function describeFreezes({ profiles, periods, store, workers }: FreezeReport): string {
  const now = Object.entries(profiles).map(([name, held]) => {
    if (held === null) return `${name}: not frozen`;
    const until = held.until === null ? "end it with simfleet freeze off" : `until ${held.until}`;
    return `${name}: frozen: ${held.reason} (${until})`;
  });
  const configured = periods.map(
    ({ name, profile, from, to }) => `${name}: freezes ${profile ?? "every profile"} from ${from} to ${to}`,
  );
  const reached = Object.entries(workers).map(([name, count]) =>
    count === 0
      ? `${name}: no worker is running; one that starts is frozen`
      : `${name}: ${counted(count, "worker")} reached`,
  );
  return [...now, ...configured, `data: ${store}`, ...reached].join("\n");
}

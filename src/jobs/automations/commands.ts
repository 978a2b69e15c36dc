/** `simfleet automations …`: event-triggered tasks. */
import * as routes from "./contract.ts";
import { automations } from "./feature.ts";
import { Command } from "@commander-js/extra-typings";
import { dayMs, systemClock } from "#core/time.ts";
import type { AutomationService } from "./service.ts";
import { type Context, withCaller, withCommon, yesOption } from "#cli/context.ts";
import { sinceOption } from "#cli/values.ts";
import { listOf, listCommand, listText } from "#cli/list.ts";
import { withLocalTimes, counted } from "#cli/format.ts";
import { grouped } from "#core/grouped.ts";
import { table } from "#cli/output.ts";

const decisionTexts = {
  act: "would act",
  done: "already processed",
  condition: "does not match the filter",
  unchanged: "already has the class",
  gone: "no longer in the inventory",
  loop: "would stop: the event was caused by its own change",
} as const;

/** Commands about one automation: name, route and description. */
const steps = [
  ["pause", routes.pauseAutomation, "Pause an automation"],
  ["resume", routes.resumeAutomation, "Resume an automation that was paused or stopped itself"],
] as const;

export function automationsCommand(context: Context): Command {
  const command = new Command("automations").addCommand(
    listCommand(context, "automations", automationList, "List automations: trigger, task, counts and state"),
    { isDefault: true },
  );
  for (const step of steps) command.addCommand(stepCommand(context, step));
  return command.addCommand(replayCommand(context));
}

function stepCommand(context: Context, [name, route, description]: (typeof steps)[number]): Command {
  const command = new Command(name).description(description).argument("<automation>", "name of the automation");
  const example = `simfleet automations ${name} new-sims-slow`;
  return withCaller(context, command, example, async ({ client, output }, automation) => {
    const report = await client.call(route, { params: { name: automation } });
    output.answer(report, (shown, terminal) => listText([shown], automationList, { terminal }));
  });
}

function replayCommand(context: Context) {
  const command = new Command("replay")
    .description("Process recent events that the automation missed, each once")
    .argument("<automation>", "name of the automation")
    .addOption(sinceOption("how far back, at most 24 hours (the default):"))
    .option("--dry-run", "only print what would be done, event by event")
    .addOption(yesOption());
  return withCommon(command, "simfleet automations replay new-sims-slow --dry-run", "locally").action(
    async (name, options) => {
      const output = context.output(options);
      await context.withApp(await context.config(options), async (app) => {
        const since = options.since ?? new Date(systemClock.wallMs() - dayMs).toISOString();
        const sinceMs = Date.parse(since);
        if (options.dryRun !== true) {
          const question = `Process the events since ${withLocalTimes(since)} that ${name} missed?`;
          if (!(await context.isConfirmed(options, question, "started"))) return 2;
          const replayed = await app.service(automations).replay(name, sinceMs);
          const report = await app.service(automations).show(name);
          output.answer({ ...report, replayed }, (shown, terminal) => listText([shown], automationList, { terminal }));
          output.say(`${grouped(replayed)} events were processed.`);
          return 0;
        }
        const decisions = await app.service(automations).dryRun(name, sinceMs);
        output.answer({ name, decisions }, (shown) => decisionsText(shown.decisions));
        const acts = decisions.filter(({ decision }) => decision === "act").length;
        output.say(
          `${counted(decisions.length, "matching event")}; it would act on ${grouped(acts)}. Nothing was done.`,
        );
        return 0;
      });
    },
  );
}

const automationList = listOf("automations", routes.listAutomations, {
  empty: "No automations. Add them under `automations` in the configuration (docs/schedules.md).",
  columns: [
    { name: "name", heading: "automation" },
    { name: "on", value: ({ on }) => on.join(" ") },
    { name: "where" },
    {
      name: "does",
      value: ({ job, operation, set }) => (operation === null ? job : [operation, ...Object.values(set)].join(" ")),
    },
    { name: "state", value: ({ state, reason }) => (reason === null ? state : `${state}: ${reason}`) },
    { name: "done" },
    { name: "unchanged" },
    { name: "failed" },
    { name: "lastRef", heading: "last" },
  ],
});

function decisionsText(decisions: Awaited<ReturnType<AutomationService["dryRun"]>>): string {
  if (decisions.length === 0) return "No matching events.";
  const rows = decisions.map(({ at, type, sim, decision }) => [at, type, sim ?? "-", decisionTexts[decision]]);
  return table(["AT", "EVENT", "SIM", "DECISION"], rows);
}

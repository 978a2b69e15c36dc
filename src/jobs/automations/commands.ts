/** `simfleet automations …`: event-triggered tasks. */
import * as routes from "./contract.ts";
import { automations } from "./feature.ts";
import { Command } from "@commander-js/extra-typings";
import { systemClock } from "#core/time.ts";
import type { AutomationReport, DecisionReport } from "./contract.ts";
import { type Context, confirm, withCommon, withLocalOptions } from "#cli/context.ts";
import { asInstant } from "#cli/values.ts";
import { type List, answerList, listText, withListOptions } from "#cli/list.ts";
import { withLocalTimes, grouped, counted } from "#cli/format.ts";
import { table } from "#cli/output.ts";

const decisionTexts = {
  act: "would act",
  done: "already processed",
  condition: "does not match the filter",
  unchanged: "already has the class",
  gone: "no longer in the inventory",
  loop: "would stop: the event was caused by its own change",
} as const;

const decisionHeadings = ["AT", "EVENT", "SIM", "DECISION"] as const;

export function automationsCommand(context: Context): Command {
  return new Command("automations")
    .addCommand(listCommand(context), { isDefault: true })
    .addCommand(stepCommand(context, routes.pauseAutomation, { name: "pause", description: "Pause an automation" }))
    .addCommand(
      stepCommand(context, routes.resumeAutomation, {
        name: "resume",
        description: "Resume an automation that was paused or stopped itself",
      }),
    )
    .addCommand(replayCommand(context));
}

function listCommand(context: Context): Command {
  const command = withListOptions(new Command("list").description("List automations: trigger, task, counts and state"));
  return withCommon(command, "simfleet automations list").action(async (options) => {
    const output = context.output(options);
    const page = await context.connect(options, ({ client }) => client.call(routes.listAutomations));
    answerList(output, page, automationList, options);
  });
}

function stepCommand(
  context: Context,
  route: typeof routes.pauseAutomation | typeof routes.resumeAutomation,
  { name, description }: { name: string; description: string },
): Command {
  const command = new Command(name).description(description).argument("<automation>", "name of the automation");
  return withCommon(command, `simfleet automations ${name} new-sims-slow`).action(async (automation, options) => {
    const output = context.output(options);
    const report = await context.connect(options, ({ client }) => client.call(route, { params: { name: automation } }));
    output.answer(report, (shown, terminal) => listText([shown], automationList, { terminal }));
  }) as unknown as Command;
}

function replayCommand(context: Context): Command {
  const command = new Command("replay")
    .description("Process recent events that the automation missed, each once")
    .argument("<automation>", "name of the automation")
    .option(
      "--since <when>",
      "how far back, at most 24 hours (the default): an age such as 90m, 24h or 7d, or a date or time such as 2026-11-20 or 2026-11-20T08:00, in local time unless it has an offset",
      asInstant,
    )
    .option("--dry-run", "only print what would be done, event by event")
    .option("-y, --yes", "skip the confirmation; required without a terminal");
  return withLocalOptions(command, "simfleet automations replay new-sims-slow --dry-run").action(
    async (name, options) => {
      const output = context.output(options);
      await context.withApp(await context.config(options), async (app) => {
        const sinceMs = options.since ?? systemClock.wallMs() - 24 * 3_600_000;
        if (options.dryRun !== true) {
          const question = `Process the events since ${withLocalTimes(new Date(sinceMs).toISOString())} that ${name} missed?`;
          if (options.yes !== true && !(await confirm(context.io, question))) {
            output.say("Nothing was started.");
            context.io.setExitCode(2);
            return;
          }
          const replayed = await app.service(automations).replay(name, sinceMs);
          const report = await app.service(automations).show(name);
          output.answer({ ...report, replayed: replayed.events }, (shown, terminal) =>
            listText([shown], automationList, { terminal }),
          );
          output.say(`${grouped(replayed.events)} events were processed.`);
          return;
        }
        const decisions: DecisionReport[] = [];
        for await (const one of app.service(automations).dryRun(name, sinceMs)) decisions.push(one);
        output.answer({ name, decisions }, (shown) => decisionsText(shown.decisions));
        const acts = decisions.filter(({ decision }) => decision === "act").length;
        output.say(
          `${counted(decisions.length, "matching event")}; it would act on ${grouped(acts)}. Nothing was done.`,
        );
      });
    },
  ) as unknown as Command;
}

const automationList: List<"automations", AutomationReport> = {
  name: "automations",
  route: routes.listAutomations,
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
};

function decisionsText(decisions: readonly DecisionReport[]): string {
  if (decisions.length === 0) return "No matching events.";
  const rows = decisions.map(({ at, type, sim, decision }) => [at, type, sim ?? "-", decisionTexts[decision]]);
  return table(decisionHeadings, rows);
}

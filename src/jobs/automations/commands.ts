/** `simfleet automations …`: event-triggered tasks. */
import { Command } from "@commander-js/extra-typings";
import { systemClock } from "#core/time.ts";
import * as routes from "./contract.ts";
import type { AutomationReport, DecisionReport } from "./contract.ts";
import { type Context, confirm, withCommon, withLocalOptions } from "#cli/context.ts";
import { asInstant } from "#cli/instant.ts";
import { answerList, type List, listText, withListOptions } from "#cli/list.ts";
import { withLocalTimes } from "#cli/local-time.ts";
import { table } from "#cli/output.ts";
import { automationsStrings } from "./strings.ts";
import { commonStrings } from "#cli/strings.ts";

export function automationsCommand(context: Context): Command {
  return new Command("automations")
    .addCommand(listCommand(context))
    .addCommand(stepCommand(context, routes.pauseAutomation, { name: "pause", description: automationsStrings.pause }))
    .addCommand(
      stepCommand(context, routes.resumeAutomation, {
        name: "resume",
        description: automationsStrings.resume,
      }),
    )
    .addCommand(replayCommand(context));
}

function listCommand(context: Context): Command {
  const command = withListOptions(new Command("list").description(automationsStrings.list));
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
  const command = new Command(name).description(description).argument("<automation>", automationsStrings.automation);
  return withCommon(command, `simfleet automations ${name} new-sims-slow`).action(async (automation, options) => {
    const output = context.output(options);
    const report = await context.connect(options, ({ client }) => client.call(route, { params: { name: automation } }));
    output.answer(report, (shown) => listText([shown], automationList));
  }) as unknown as Command;
}

function replayCommand(context: Context): Command {
  const command = new Command("replay")
    .description(automationsStrings.replay)
    .argument("<automation>", automationsStrings.automation)
    .option("--since <when>", automationsStrings.since, asInstant)
    .option("--dry-run", automationsStrings.dryRun)
    .option("-y, --yes", commonStrings.yes);
  return withLocalOptions(command, "simfleet automations replay new-sims-slow --dry-run").action(
    async (name, options) => {
      const output = context.output(options);
      await context.withApp(await context.config(options), async (app) => {
        const sinceMs = options.since ?? systemClock.wallMs() - 24 * 3_600_000;
        if (options.dryRun !== true) {
          const question = automationsStrings.question(withLocalTimes(new Date(sinceMs).toISOString()), name);
          if (options.yes !== true && !(await confirm(context.io, question))) {
            output.say(commonStrings.nothingStarted);
            context.io.setExitCode(2);
            return;
          }
          const replayed = await app.automations.replay(name, sinceMs);
          const report = await app.automations.show(name);
          output.answer({ ...report, replayed: replayed.events }, (shown) => listText([shown], automationList));
          output.say(automationsStrings.processed(replayed.events));
          return;
        }
        const decisions: DecisionReport[] = [];
        for await (const one of app.automations.dryRun(name, sinceMs)) decisions.push(one);
        output.answer({ name, decisions }, (shown) => decisionsText(shown.decisions));
        const acts = decisions.filter(({ decision }) => decision === "act").length;
        output.say(automationsStrings.wouldAct(decisions.length, acts));
      });
    },
  ) as unknown as Command;
}

const automationList: List<"automations", AutomationReport> = {
  name: "automations",
  route: routes.listAutomations,
  empty: automationsStrings.none,
  columns: [
    { name: "name", heading: automationsStrings.headings.automation },
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
    { name: "lastRef", heading: automationsStrings.headings.last },
  ],
};

function decisionsText(decisions: readonly DecisionReport[]): string {
  if (decisions.length === 0) return automationsStrings.noEvents;
  const rows = decisions.map(({ at, type, sim, decision }) => [
    at,
    type,
    sim ?? "-",
    automationsStrings.decisions[decision],
  ]);
  return table(automationsStrings.decisionHeadings, rows);
}

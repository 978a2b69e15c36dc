/** `simfleet schedules …`: scheduled tasks. */
import { schedules } from "./feature.ts";
import { Command } from "@commander-js/extra-typings";
import type { App } from "#kernel/app.ts";
import * as routes from "./contract.ts";
import type { ScheduleReport } from "./contract.ts";
import { type Context, withCommon } from "#cli/context.ts";
import { answerList, type List, listText, withListOptions } from "#cli/list.ts";
import { duration } from "#cli/format.ts";
import { planText } from "#jobs/runs/commands/plan.ts";

const noWorker = "No worker is running: schedules need one (simfleet worker).";

const triggering = {
  description: "Run a schedule's task now, or preview it (--dry-run)",
  done: "Triggered; a worker is starting it.",
};

export function schedulesCommand(context: Context): Command {
  return new Command("schedules")
    .addCommand(listCommand(context), { isDefault: true })
    .addCommand(
      stepCommand(context, routes.showSchedule, {
        name: "show",
        description: "Show a schedule: its next five times, task in progress, last result",
      }),
    )
    .addCommand(stepCommand(context, routes.triggerSchedule, { name: "run", ...triggering }))
    .addCommand(stepCommand(context, routes.triggerSchedule, { name: "trigger", ...triggering }))
    .addCommand(
      stepCommand(context, routes.pauseSchedule, {
        name: "pause",
        description: "Pause a schedule",
        done: "Paused; a task in progress continues.",
      }),
    )
    .addCommand(
      stepCommand(context, routes.resumeSchedule, {
        name: "resume",
        description: "Resume a schedule; it starts at its next time",
        done: "Resumed.",
      }),
    );
}

function listCommand(context: Context): Command {
  const command = withListOptions(
    new Command("list").description("List schedules: next times, last result, task in progress"),
  );
  return withCommon(command, "simfleet schedules list").action(async (options) => {
    const output = context.output(options);
    await context.connect(options, async ({ client, app }) => {
      const page = await client.call(routes.listSchedules);
      answerList(output, page, scheduleList, options);
      if (page.schedules.length > 0 && !(await isServed(app))) output.say(noWorker);
    });
  });
}

function stepCommand(
  context: Context,
  route:
    | typeof routes.showSchedule
    | typeof routes.triggerSchedule
    | typeof routes.pauseSchedule
    | typeof routes.resumeSchedule,
  { name, description, done }: { name: string; description: string; done?: string },
): Command {
  const command = new Command(name).description(description).argument("<schedule>", "name of the schedule");
  if (route === routes.triggerSchedule) command.option("--dry-run", "only print what it would do; nothing is started");
  return withCommon(command, `simfleet schedules ${name} nightly-sync`).action(async (schedule, options) => {
    const output = context.output(options);
    await context.connect(options, async ({ client, app }) => {
      const { dryRun = false }: { dryRun?: boolean } = command.opts();
      if (dryRun) {
        const preview = await client.call(routes.dryRunSchedule, { params: { name: schedule } });
        return output.answer(preview, ({ does, plan }) =>
          [`${schedule} ${does}`, ...(plan === null ? [] : [planText(plan)])].join("\n"),
        );
      }
      const report = await client.call(route, { params: { name: schedule } });
      output.answer(report, (shown, terminal) => listText([shown], scheduleList, { terminal }));
      const said = (await isServed(app)) ? done : noWorker;
      if (said !== undefined) output.say(said);
    });
  }) as unknown as Command;
}

/** A remote worker serves schedules itself. */
async function isServed(app: App | undefined): Promise<boolean> {
  return app === undefined || app.service(schedules).isServed();
}

const scheduleList: List<"schedules", ScheduleReport> = {
  name: "schedules",
  route: routes.listSchedules,
  empty: "No schedules. Add them under `schedules` in the configuration (docs/schedules.md).",
  columns: [
    { name: "name", heading: "schedule" },
    { name: "job" },
    { name: "cron" },
    { name: "state", value: ({ state, reason }) => (reason === null ? state : `${state}: ${reason}`) },
    { name: "next", value: ({ next }) => next[0]?.at },
    { name: "inItsZone", value: ({ next }) => next[0]?.local },
    { name: "now", value: nowText },
    { name: "last", value: lastText },
  ],
  below: ([only, ...others]) =>
    only === undefined || others.length > 0
      ? []
      : ["", "next times:", ...only.next.map(({ at, local }) => `  ${local} (${at})`)],
};

function nowText({ running, isQueued }: ScheduleReport): string {
  if (running === null) return "-";
  if (running.fault !== null) return `retrying: ${running.fault}`;
  const ref = running.ref ?? "starting";
  return isQueued ? `${ref}, one more queued` : ref;
}

function lastText({ last }: ScheduleReport): string {
  if (last === null) return "-";
  const { result, seconds, reason, finishedAt } = last;
  const hasRun = result === "done" || result === "failed";
  const what = hasRun ? `${result} in ${duration(seconds * 1_000)}` : result;
  return `${what} at ${finishedAt}${reason === null ? "" : `: ${reason}`}`;
}

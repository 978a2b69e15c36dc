/** `simfleet schedules …`: scheduled tasks. */
import { Command } from "@commander-js/extra-typings";
import type { App } from "#app/app.ts";
import * as routes from "./contract.ts";
import type { ScheduleReport } from "./contract.ts";
import { type Context, withCommon } from "#cli/context.ts";
import { answerList, type List, listText, withListOptions } from "#cli/list.ts";
import { schedulesStrings } from "./strings.ts";

export function schedulesCommand(context: Context): Command {
  return new Command("schedules")
    .addCommand(listCommand(context))
    .addCommand(
      stepCommand(context, routes.triggerSchedule, {
        name: "trigger",
        description: schedulesStrings.trigger,
        done: schedulesStrings.triggered,
      }),
    )
    .addCommand(
      stepCommand(context, routes.pauseSchedule, {
        name: "pause",
        description: schedulesStrings.pause,
        done: schedulesStrings.paused,
      }),
    )
    .addCommand(
      stepCommand(context, routes.resumeSchedule, {
        name: "resume",
        description: schedulesStrings.resume,
        done: schedulesStrings.resumed,
      }),
    );
}

function listCommand(context: Context): Command {
  const command = withListOptions(new Command("list").description(schedulesStrings.list));
  return withCommon(command, "simfleet schedules list").action(async (options) => {
    const output = context.output(options);
    await context.connect(options, async ({ client, app }) => {
      const page = await client.call(routes.listSchedules);
      answerList(output, page, scheduleList, options);
      if (page.schedules.length > 0 && !(await isServed(app))) output.say(schedulesStrings.noWorker);
    });
  });
}

function stepCommand(
  context: Context,
  route: typeof routes.triggerSchedule | typeof routes.pauseSchedule | typeof routes.resumeSchedule,
  { name, description, done }: { name: string; description: string; done: string },
): Command {
  const command = new Command(name).description(description).argument("<schedule>", schedulesStrings.schedule);
  return withCommon(command, `simfleet schedules ${name} nightly-sync`).action(async (schedule, options) => {
    const output = context.output(options);
    await context.connect(options, async ({ client, app }) => {
      const report = await client.call(route, { params: { name: schedule } });
      output.answer(report, (shown) => listText([shown], scheduleList));
      output.say((await isServed(app)) ? done : schedulesStrings.noWorker);
    });
  }) as unknown as Command;
}

/** A remote worker serves schedules itself. */
async function isServed(app: App | undefined): Promise<boolean> {
  return app === undefined || app.schedules.isServed();
}

const scheduleList: List<"schedules", ScheduleReport> = {
  name: "schedules",
  route: routes.listSchedules,
  empty: schedulesStrings.none,
  columns: [
    { name: "name", heading: schedulesStrings.headings.schedule },
    { name: "job" },
    { name: "cron" },
    { name: "state" },
    { name: "next", value: ({ next }) => next[0]?.at },
    { name: "inItsZone", value: ({ next }) => next[0]?.local },
    { name: "now", value: nowText },
    { name: "last", value: lastText },
  ],
};

function nowText({ running, isQueued }: ScheduleReport): string {
  if (running === null) return "-";
  if (running.fault !== null) return schedulesStrings.retrying(running.fault);
  const ref = running.ref ?? schedulesStrings.starting;
  return isQueued ? schedulesStrings.oneMoreQueued(ref) : ref;
}

function lastText({ last }: ScheduleReport): string {
  if (last === null) return "-";
  const { result, seconds, reason, finishedAt } = last;
  const hasRun = result === "done" || result === "failed";
  const what = hasRun ? schedulesStrings.took(result, seconds * 1_000) : result;
  return schedulesStrings.last(what, finishedAt, reason);
}

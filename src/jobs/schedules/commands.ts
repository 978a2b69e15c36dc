/** `simfleet schedules …`: scheduled tasks. */
import { schedules } from "./feature.ts";
import { Command } from "@commander-js/extra-typings";
import type { App } from "#kernel/app.ts";
import * as routes from "./contract.ts";
import type { ScheduleReport } from "./contract.ts";
import { type Context, withCommon } from "#cli/context.ts";
import { answerList, type List, listText, withListOptions } from "#cli/list.ts";
import { duration } from "#cli/format.ts";

const noWorker = "No worker is running: schedules need one (simfleet worker).";

export function schedulesCommand(context: Context): Command {
  return new Command("schedules")
    .addCommand(listCommand(context), { isDefault: true })
    .addCommand(
      stepCommand(context, routes.triggerSchedule, {
        name: "trigger",
        description: "run a schedule's task now",
        done: "Triggered; a worker is starting it.",
      }),
    )
    .addCommand(
      stepCommand(context, routes.pauseSchedule, {
        name: "pause",
        description: "pause a schedule",
        done: "Paused; a task in progress continues.",
      }),
    )
    .addCommand(
      stepCommand(context, routes.resumeSchedule, {
        name: "resume",
        description: "resume a schedule; it starts at its next time",
        done: "Resumed.",
      }),
    );
}

function listCommand(context: Context): Command {
  const command = withListOptions(
    new Command("list").description("list schedules: next times, last result, task in progress"),
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
  route: typeof routes.triggerSchedule | typeof routes.pauseSchedule | typeof routes.resumeSchedule,
  { name, description, done }: { name: string; description: string; done: string },
): Command {
  const command = new Command(name).description(description).argument("<schedule>", "name of the schedule");
  return withCommon(command, `simfleet schedules ${name} nightly-sync`).action(async (schedule, options) => {
    const output = context.output(options);
    await context.connect(options, async ({ client, app }) => {
      const report = await client.call(route, { params: { name: schedule } });
      output.answer(report, (shown, terminal) => listText([shown], scheduleList, { terminal }));
      output.say((await isServed(app)) ? done : noWorker);
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
    { name: "state" },
    { name: "next", value: ({ next }) => next[0]?.at },
    { name: "inItsZone", value: ({ next }) => next[0]?.local },
    { name: "now", value: nowText },
    { name: "last", value: lastText },
  ],
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

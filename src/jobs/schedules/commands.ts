/** `simfleet schedules …`: scheduled tasks. */
import { schedules } from "./feature.ts";
import { Command } from "@commander-js/extra-typings";
import type { App } from "#kernel/app.ts";
import * as routes from "./contract.ts";
import type { ScheduleReport } from "./contract.ts";
import { type Context, withCaller } from "#cli/context.ts";
import { answerList, listOf, listText, withListOptions } from "#cli/list.ts";
import { duration } from "#cli/format.ts";
import { planText } from "#jobs/runs/commands/plan.ts";

const noWorker = "No worker is running: schedules need one (simfleet worker).";

const triggering = "Run a schedule's task now, or preview it (--dry-run)";
const triggered = "Triggered; a worker is starting it.";

/** Commands about one schedule: name, route, description, and what is said afterwards. */
const steps = [
  ["show", routes.showSchedule, "Show a schedule: its next five times, task in progress, last result", undefined],
  ["run", routes.triggerSchedule, triggering, triggered],
  ["trigger", routes.triggerSchedule, triggering, triggered],
  ["pause", routes.pauseSchedule, "Pause a schedule", "Paused; a task in progress continues."],
  ["resume", routes.resumeSchedule, "Resume a schedule; it starts at its next time", "Resumed."],
] as const;

export function schedulesCommand(context: Context): Command {
  const command = new Command("schedules").addCommand(listCommand(context), { isDefault: true });
  for (const step of steps) command.addCommand(stepCommand(context, step));
  return command;
}

function listCommand(context: Context): Command {
  const command = withListOptions(
    new Command("list").description("List schedules: next times, last result, task in progress"),
  );
  return withCaller(context, command, "simfleet schedules list", async ({ client, app, output }, options) => {
    const page = await client.call(routes.listSchedules);
    answerList(output, page, scheduleList, options);
    if (page.schedules.length > 0 && !(await isServed(app))) output.say(noWorker);
  });
}

function stepCommand(context: Context, [name, route, description, done]: (typeof steps)[number]): Command {
  const command = new Command(name).description(description).argument("<schedule>", "name of the schedule");
  if (route === routes.triggerSchedule) command.option("--dry-run", "only print what it would do; nothing is started");
  const example = `simfleet schedules ${name} nightly-sync`;
  return withCaller(context, command, example, async ({ client, app, output }, schedule) => {
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
}

/** A remote worker serves schedules itself. */
async function isServed(app: App | undefined): Promise<boolean> {
  return app === undefined || app.service(schedules).isServed();
}

const scheduleList = listOf("schedules", routes.listSchedules, {
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
});

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

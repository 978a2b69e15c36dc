/** `simfleet schedules …`: scheduled tasks. */
import { Command } from "@commander-js/extra-typings";
import type { App } from "#app/app.ts";
import type { ScheduleReport } from "#jobs/schedules/service.ts";
import { type Context, withCommon } from "../context.ts";
import { duration, table } from "../output.ts";

const notServed = "No worker is running: schedules need one (simfleet worker).";

export function schedulesCommand(context: Context): Command {
  return new Command("schedules")
    .description("scheduled tasks: next runs and last results")
    .addCommand(listCommand(context))
    .addCommand(
      stepCommand(context, {
        name: "trigger",
        description: "run a schedule's task now",
        done: "Triggered; a worker is starting it.",
        here: (app, schedule) => app.schedules.trigger(schedule, { by: context.actor }),
      }),
    )
    .addCommand(
      stepCommand(context, {
        name: "pause",
        description: "pause a schedule",
        done: "Paused; a task in progress continues.",
        here: (app, schedule) => app.schedules.pause(schedule, context.actor),
      }),
    )
    .addCommand(
      stepCommand(context, {
        name: "resume",
        description: "resume a schedule from its next time on",
        done: "Resumed.",
        here: (app, schedule) => app.schedules.resume(schedule, context.actor),
      }),
    );
}

function listCommand(context: Context): Command {
  const command = new Command("list").description("list schedules: next times, last result, task in progress");
  return withCommon(command, "simfleet schedules list").action(async (options) => {
    const output = context.output(options);
    const { page, isServed } = await context.ask(options, {
      here: async (app) => ({
        page: { schedules: await app.schedules.list(), nextCursor: null },
        isServed: await app.schedules.isServed(),
      }),
      there: async (worker) => ({ page: await worker.get<Page>("/v1/schedules"), isServed: true }),
    });
    output.answer(page, (shown) => listText(shown.schedules));
    if (!isServed && page.schedules.length > 0) output.say(notServed);
  });
}

function stepCommand(
  context: Context,
  how: {
    name: string;
    description: string;
    done: string;
    /** With a remote worker the route has the same name. */
    here: (app: App, schedule: string) => Promise<ScheduleReport>;
  },
): Command {
  const command = new Command(how.name).description(how.description).argument("<schedule>", "its name");
  return withCommon(command, `simfleet schedules ${how.name} nightly-sync`).action(async (schedule, options) => {
    const output = context.output(options);
    const path = `/v1/schedules/${encodeURIComponent(schedule)}/${how.name}`;
    const { report, isServed } = await context.ask(options, {
      here: async (app) => ({ report: await how.here(app, schedule), isServed: await app.schedules.isServed() }),
      there: async (worker) => ({ report: await worker.post<ScheduleReport>(path), isServed: true }),
    });
    output.answer(report, (shown) => listText([shown]));
    output.say(isServed ? how.done : notServed);
  }) as unknown as Command;
}

interface Page {
  readonly schedules: ScheduleReport[];
  readonly nextCursor: null;
}

function listText(schedules: readonly ScheduleReport[]): string {
  if (schedules.length === 0) {
    return "No schedules. Add them under `schedules` in the configuration (docs/schedules.md).";
  }
  const rows = schedules.map((one) => [
    one.name,
    one.job,
    one.cron,
    one.state,
    one.next[0]?.local ?? "-",
    one.next[0]?.at.replace(".000Z", "Z") ?? "-",
    nowText(one),
    lastText(one),
  ]);
  return table(["SCHEDULE", "JOB", "CRON", "STATE", "NEXT", "UTC", "NOW", "LAST"], rows);
}

function nowText({ running, isQueued }: ScheduleReport): string {
  if (running === null) return "-";
  if (running.fault !== null) return `retrying: ${running.fault}`;
  return `${running.ref ?? "begins"}${isQueued ? ", one more waits" : ""}`;
}

function lastText({ last }: ScheduleReport): string {
  if (last === null) return "-";
  const { result, seconds, reason, finishedAt } = last;
  const took = result === "done" || result === "failed" ? ` in ${duration(seconds * 1_000)}` : "";
  return `${result}${took} at ${finishedAt.replace(/\.\d+Z/, "Z")}${reason === null ? "" : `: ${reason}`}`;
}

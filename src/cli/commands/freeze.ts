/** `simfleet freeze …`: stops everything that changes the platform. */
import { Command, InvalidArgumentError } from "@commander-js/extra-typings";
import type { App } from "#app/app.ts";
import { type FreezeReport, reportOfFreezes } from "#jobs/freezes/report.ts";
import { type CommonOptions, type Context, withCommon } from "../context.ts";
import type { RemoteWorker } from "../remote-worker.ts";

const path = "/v1/freeze";

export function freezeCommand(context: Context): Command {
  return new Command("freeze")
    .description("freeze all changes on the platform: runs and rotations of every profile")
    .addCommand(onCommand(context))
    .addCommand(offCommand(context))
    .addCommand(statusCommand(context));
}

function onCommand(context: Context): Command {
  const command = new Command("on")
    .description("freeze all changes; calls in flight are completed")
    .option("--reason <text>", "reason, shown with the freeze", "")
    .option("--until <instant>", "when the freeze ends automatically: 2026-12-27T09:00:00+09:00", asInstant);
  return withCommon(command, "simfleet freeze on --reason 'incident 12'").action(async (options) => {
    const { reason, until: untilMs } = options;
    await emit(context, options, {
      here: ({ freezes }) => freezes.order({ by: context.actor, reason, untilMs }),
      there: (worker) => {
        const until = untilMs === undefined ? undefined : new Date(untilMs).toISOString();
        return worker.post<FreezeReport>(path, { body: { reason, until } });
      },
    });
  });
}

function offCommand(context: Context): Command {
  const command = new Command("off").description("end the freeze; freezes in the configuration still apply");
  return withCommon(command, "simfleet freeze off").action((options) =>
    emit(context, options, {
      here: ({ freezes }) => freezes.end(context.actor),
      there: (worker) => worker.delete<FreezeReport>(path),
    }),
  );
}

function statusCommand(context: Context): Command {
  const command = new Command("status").description("show whether changes are frozen, and why");
  return withCommon(command, "simfleet freeze status").action((options) =>
    emit(context, options, {
      here: () => Promise.resolve(),
      there: (worker) => worker.get<FreezeReport>(path),
    }),
  );
}

/** Starts or ends the freeze, or only reads it, and prints the resulting status. */
async function emit(
  context: Context,
  options: CommonOptions,
  ways: { here: (app: App) => Promise<void>; there: (worker: RemoteWorker) => Promise<FreezeReport> },
): Promise<void> {
  const output = context.output(options);
  const report = await context.ask(options, {
    here: async (app, { profiles }) => {
      await ways.here(app);
      return reportOfFreezes(app.freezes, Object.keys(profiles));
    },
    there: ways.there,
  });
  output.answer(report, (shown) => textOf(shown));
}

function textOf({ profiles, windows }: FreezeReport): string {
  const now = Object.entries(profiles).map(([name, held]) => {
    if (held === null) return `${name}: not frozen`;
    const until = held.until === null ? "end it with simfleet freeze off" : `until ${held.until}`;
    return `${name}: frozen: ${held.reason} (${until})`;
  });
  const configured = windows.map(
    ({ name, profile, from, to }) => `${name}: freezes ${profile ?? "every profile"} from ${from} to ${to}`,
  );
  return [...now, ...configured].join("\n");
}

function asInstant(text: string): number {
  const ms = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(ms)) throw new InvalidArgumentError("It must be a time such as 2026-12-27T09:00:00+09:00.");
  return ms;
}

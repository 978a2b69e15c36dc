/** `simfleet sims sync`: syncs the inventory and shows the progress. */
import { Command } from "@commander-js/extra-typings";
import * as routes from "../contract.ts";
import type { SyncReport } from "../contract.ts";
import { type Caller, type Context, withCommon } from "#cli/context.ts";
import { followSync } from "./follow-sync.ts";
import { grouped, counted, duration } from "#cli/format.ts";
import type { Output } from "#cli/output.ts";

export function syncCommand(context: Context): Command {
  const command = new Command("sync")
    .description("sync the inventory with the platform; resumes an interrupted sync")
    .option("--restart", "start over from the first page")
    .option("--detach", "leave it to a worker and return immediately");
  return withCommon(command, "simfleet sims sync").action(async (options) => {
    const output = context.output(options);
    const { interrupt } = context.io;
    const isDetached = options.detach === true;
    const exitCode = await context.connect(options, async (caller) => {
      const { client, profile, app } = caller;
      // Reports wrong credentials now instead of in a worker's log.
      if (app !== undefined && !isDetached) await app.client(app.config.profile).whoAmI(interrupt);
      const query = { profile, restart: options.restart === true ? "true" : undefined } as const;
      const started = await client.call(routes.startSync, { query });
      if (started.pages > 0)
        output.say(`Resuming the sync of ${started.startedAt}, after ${counted(started.pages, "page")}.`);
      if (isDetached) return showDetached(started, { caller, output });
      const followed = await followSync({ client, app, output, profile: started.profile, interrupt });
      output.answer(followed.report, syncText);
      return followed.exitCode;
    });
    context.io.setExitCode(exitCode);
  });
}

async function showDetached(
  started: SyncReport,
  { caller: { app }, output }: { caller: Caller; output: Output },
): Promise<number> {
  output.answer(started, ({ syncId }) => syncId);
  if (app !== undefined && !(await app.sims.isServed(started.profile))) {
    output.say(
      "No worker is running: the sync starts with the next one (simfleet worker), or with: simfleet sims sync",
    );
  }
  return 0;
}

function syncText(report: SyncReport): string {
  const { added, changed, returned, gone, seconds, reason } = report;
  if (report.state === "failed") return `The sync failed: ${reason ?? "unknown reason"}`;
  const news = Object.entries({ added, changed, returned, gone }).filter(([, count]) => count > 0);
  const differences = news.map(([name, count]) => `${grouped(count)} ${name}`).join(", ") || "nothing has changed";
  const time = seconds === null ? "so far" : `in ${duration(seconds * 1_000)}`;
  return `${counted(report.sims, "SIM")} on ${counted(report.pages, "page")} ${time}: ${differences}`;
}

/** `simfleet sims sync`: syncs the inventory and shows the progress. */
import { Command } from "@commander-js/extra-typings";
import type { App } from "#app/app.ts";
import type { Config } from "#config/config.ts";
import type { SyncReport } from "#jobs/inventory/sync-report.ts";
import { type Context, withCommon } from "../../context.ts";
import { followSync, followRemoteSync } from "../../follow/follow-sync.ts";
import { type Output, duration, grouped } from "../../output.ts";
import type { RemoteWorker } from "../../remote-worker.ts";

export function syncCommand(context: Context): Command {
  const command = new Command("sync")
    .description("sync the inventory with the platform; resumes an interrupted sync")
    .option("--restart", "start over from the first page")
    .option("--detach", "leave it to a worker and return immediately");
  return withCommon(command, "simfleet sims sync").action(async (options) => {
    const output = context.output(options);
    const { interrupt } = context.io;
    const isRestart = options.restart === true;
    const isDetached = options.detach === true;
    const here = async (app: App, { profile }: Config): Promise<number> => {
      // Reports wrong credentials now instead of in a worker's log.
      if (!isDetached) await app.client(profile).whoAmI(interrupt);
      const begun = await app.sims.sync(profile, { by: context.actor, how: isRestart ? "restart" : "resume" });
      sayWhereItGoesOn(begun, output);
      if (!isDetached) return shown(await followSync({ app, output, profile, interrupt }), output);
      output.answer(begun, ({ syncId }) => syncId);
      if (!(await app.sims.isServed(profile))) {
        output.say(
          "No worker is running: the sync starts with the next one (simfleet worker), or with: simfleet sims sync",
        );
      }
      return 0;
    };
    const there = async (worker: RemoteWorker): Promise<number> => {
      const query = worker.ofProfile({ restart: isRestart ? true : undefined });
      const begun = await worker.post<SyncReport>("/v1/syncs", { query });
      const { profile } = begun;
      sayWhereItGoesOn(begun, output);
      if (!isDetached) return shown(await followRemoteSync({ worker, output, profile, interrupt }), output);
      output.answer(begun, ({ syncId }) => syncId);
      return 0;
    };
    context.io.setExitCode(await context.ask(options, { here, there }));
  });
}

function sayWhereItGoesOn(begun: SyncReport, output: Output): void {
  if (begun.pages > 0) output.say(`Resuming the sync of ${begun.startedAt}, after ${pagesText(begun)}.`);
}

function shown({ report, exitCode }: { report: SyncReport; exitCode: number }, output: Output): number {
  output.answer(report, syncText);
  return exitCode;
}

function syncText(report: SyncReport): string {
  const { added, changed, returned, gone, seconds, reason } = report;
  if (report.state === "failed") return `The sync failed: ${reason ?? "no reason is known"}`;
  const news = Object.entries({ added, changed, returned, gone }).filter(([, count]) => count > 0);
  const differences = news.map(([name, count]) => `${grouped(count)} ${name}`).join(", ") || "nothing has changed";
  const time = seconds === null ? "so far" : `in ${duration(seconds * 1_000)}`;
  return `${grouped(report.sims)} SIMs on ${pagesText(report)} ${time}: ${differences}`;
}

function pagesText({ pages }: SyncReport): string {
  return `${grouped(pages)} ${pages === 1 ? "page" : "pages"}`;
}

/** `simfleet sims sync`: reads the whole fleet and shows it being read. */
import { Command } from "@commander-js/extra-typings";
import type { SyncReport } from "#runs/sync-report.ts";
import { type Context, withCommon } from "../../context.ts";
import { followSync } from "../../follow-sync.ts";
import { duration, grouped } from "../../output.ts";

export function syncCommand(context: Context): Command {
  const command = new Command("sync")
    .description("read the whole fleet at the quota's speed and keep it; goes on where one was cut short")
    .option("--anew", "begin at the first page whatever was cut short")
    .option("--detach", "leave it to a worker and return at once");
  return withCommon(command, "simfleet sims sync").action(async (options) => {
    const output = context.output(options);
    const config = context.config(options);
    const { profile } = config;
    const { interrupt } = context.surroundings;
    const exitCode = await context.withApp(config, async (app) => {
      // Wrong credentials show now, not in a worker's log.
      if (options.detach !== true) await app.client(profile).whoAmI(interrupt);
      const begun = await app.sims.sync(profile, options.anew === true ? "anew" : "go-on");
      if (begun.pages > 0) output.say(`Going on with the sync of ${begun.startedAt}, after ${pagesText(begun)}.`);
      if (options.detach === true) {
        output.answer(begun, () => begun.syncId);
        if (!(await app.sims.isServed(profile))) {
          output.say("No worker is up: the sync begins when one starts (simfleet worker), or with: simfleet sims sync");
        }
        return 0;
      }
      const { report, exitCode: code } = await followSync({ app, output, profile, interrupt });
      output.answer(report, () => syncText(report));
      return code;
    });
    context.surroundings.setExitCode(exitCode);
  });
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

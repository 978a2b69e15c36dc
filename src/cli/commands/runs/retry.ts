/** `simfleet runs retry`: redoes rows of a run, as a new run. */
import { Command } from "@commander-js/extra-typings";
import type { App } from "#app/app.ts";
import type { Outcome } from "#fleet/run.ts";
import type { RunReport } from "#jobs/runs/report.ts";
import { retriedByDefault } from "#jobs/runs/retry.ts";
import { showRemoteToEnd } from "../../apply-remote.ts";
import { type Context, confirm, withCommon } from "../../context.ts";
import { grouped } from "../../output.ts";
import type { RemoteWorker } from "../../remote-worker.ts";
import { showToEnd } from "../apply.ts";
import { outcomeOption } from "./outcome-option.ts";

export function retryCommand(context: Context): Command {
  const command = new Command("retry")
    .description("retry failed and cancelled rows in a new run")
    .argument("<run>", "id of a finished run")
    .addOption(outcomeOption("retry rows with this outcome instead; repeatable"))
    .option("--yes", "skip the confirmation; required without a terminal")
    .option("--detach", "submit the run, print its id and return");
  return withCommon(command, "simfleet runs retry r-20261120-103045-x7k2 --yes").action(async (ofRunId, options) => {
    const output = context.output(options);
    const { interrupt } = context.io;
    const { outcome: outcomes, detach } = options;
    /** @param before the run whose rows are redone */
    const isAgreed = async (before: RunReport): Promise<boolean> => {
      const rows = rowsOf(before, outcomes);
      // Without any, the service throws with the reason.
      if (options.yes === true || rows === 0) return true;
      const what = `${grouped(rows)} ${rows === 1 ? "row" : "rows"}`;
      if (await confirm(context.io, `Send ${what} of ${ofRunId} again?`)) return true;
      output.say("Nothing was started.");
      return false;
    };
    const shown = async (report: RunReport, showOn: (runId: string) => Promise<number>): Promise<number> => {
      const { runId, counts } = report;
      if (detach === true) {
        output.answer(report, (printed) => printed.runId);
        return 0;
      }
      output.say(`Run ${runId} retries ${counts.total} rows of ${ofRunId}.`);
      return showOn(runId);
    };
    const here = async (app: App): Promise<number> => {
      const before = await app.runs.show(ofRunId);
      if (detach !== true) await app.client(before.profile).whoAmI(interrupt);
      if (!(await isAgreed(before))) return 2;
      const report = await app.runs.retry(ofRunId, { outcomes, by: context.actor });
      return shown(report, (runId) => showToEnd({ app, output, context, runId }));
    };
    const there = async (worker: RemoteWorker): Promise<number> => {
      const path = `/v1/runs/${encodeURIComponent(ofRunId)}`;
      if (!(await isAgreed(await worker.get<RunReport>(path)))) return 2;
      const body = outcomes === undefined ? undefined : { outcomes };
      const report = await worker.post<RunReport>(`${path}/retry`, { body });
      return shown(report, (runId) => showRemoteToEnd(worker, { runId, output, interrupt }));
    };
    context.io.setExitCode(await context.ask(options, { here, there }));
  }) as unknown as Command;
}

function rowsOf({ counts }: RunReport, outcomes: readonly Outcome[] = retriedByDefault): number {
  return [...new Set(outcomes)].reduce((sum, outcome) => sum + counts[outcome], 0);
}

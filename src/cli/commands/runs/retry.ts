/** `simfleet runs retry`: redoes rows of a run, as a new run. */
import { Command } from "@commander-js/extra-typings";
import type { App } from "#app.ts";
import type { RunReport } from "#runs/report.ts";
import { showToEndElsewhere } from "../../apply-remote.ts";
import { type Context, withCommon } from "../../context.ts";
import type { RemoteWorker } from "../../remote-worker.ts";
import { showToEnd } from "../apply.ts";
import { outcomeOption } from "./outcome-option.ts";

export function retryCommand(context: Context): Command {
  const command = new Command("retry")
    .description("redo the rows of a run that failed or were cancelled, as a new run")
    .argument("<run>", "the id of the run that is over")
    .addOption(outcomeOption("take up rows with this outcome instead; repeatable"))
    .option("--detach", "submit the run, print its id and return");
  return withCommon(command, "simfleet runs retry r-20261120-103045-x7k2").action(async (ofRunId, options) => {
    const output = context.output(options);
    const { interrupt } = context.surroundings;
    const { outcome: outcomes, detach } = options;
    const shown = async (report: RunReport, showOn: (runId: string) => Promise<number>): Promise<number> => {
      const { runId, counts } = report;
      if (detach === true) {
        output.answer(report, () => runId);
        return 0;
      }
      output.say(`Run ${runId} redoes ${counts.total} rows of ${ofRunId}.`);
      return showOn(runId);
    };
    const here = async (app: App): Promise<number> => {
      const { profile } = await app.desk.record(ofRunId);
      if (detach !== true) await app.client(profile).whoAmI(interrupt);
      const report = await app.desk.retry(ofRunId, { outcomes, by: context.actor });
      return shown(report, (runId) => showToEnd({ app, output, context, runId }));
    };
    const there = async (worker: RemoteWorker): Promise<number> => {
      const body = outcomes === undefined ? undefined : { outcomes };
      const report = await worker.post<RunReport>(`/v1/runs/${encodeURIComponent(ofRunId)}/retry`, { body });
      return shown(report, (runId) => showToEndElsewhere(worker, { runId, output, interrupt }));
    };
    context.surroundings.setExitCode(await context.ask(options, { here, there }));
  }) as unknown as Command;
}

/** `simfleet runs resume`: resumes a paused run. */
import { Command } from "@commander-js/extra-typings";
import type { App } from "#app/app.ts";
import type { RunReport } from "#jobs/runs/report.ts";
import { showRemoteToEnd } from "../../apply-remote.ts";
import { type Context, withCommon } from "../../context.ts";
import type { RemoteWorker } from "../../remote-worker.ts";
import { runText } from "../../run-text.ts";
import { showToEnd } from "../apply.ts";

export function resumeCommand(context: Context): Command {
  const command = new Command("resume")
    .description("resume a run and follow it until it ends")
    .argument("<run>", "its id")
    .option("--detach", "return immediately");
  return withCommon(command, "simfleet runs resume r-20261120-103045-x7k2").action(async (runId, options) => {
    const output = context.output(options);
    const { interrupt } = context.io;
    const isDetached = options.detach === true;
    const detached = (report: RunReport): number => {
      output.answer(report, (shown) => runText(shown));
      return 0;
    };
    const here = async (app: App): Promise<number> => {
      const { profile } = await app.runs.record(runId);
      if (!isDetached) await app.client(profile).whoAmI(interrupt);
      await app.runs.control.resume(runId, { by: context.actor });
      return isDetached ? detached(await app.runs.show(runId)) : showToEnd({ app, output, context, runId });
    };
    const there = async (worker: RemoteWorker): Promise<number> => {
      const report = await worker.post<RunReport>(`/v1/runs/${encodeURIComponent(runId)}/resume`);
      return isDetached ? detached(report) : showRemoteToEnd(worker, { runId, output, interrupt });
    };
    context.io.setExitCode(await context.ask(options, { here, there }));
  }) as unknown as Command;
}

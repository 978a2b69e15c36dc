/** `simfleet runs undo`: syncs, then restores what a run changed, except for SIMs changed since. */
import { Command } from "@commander-js/extra-typings";
import type { App } from "#app/app.ts";
import { endpointsOf } from "#app/endpoints.ts";
import { localClient } from "#contract/client.ts";
import { isRunOver } from "#fleet/run.ts";
import type { RunReport } from "#jobs/runs/report.ts";
import { type SyncReport, startSync } from "#jobs/inventory/contract.ts";
import { showRemoteToEnd } from "../../apply-remote.ts";
import { type Context, confirm, withCommon } from "../../context.ts";
import { followSync } from "../../follow/follow-sync.ts";
import { type Output, grouped } from "../../output.ts";
import type { RemoteWorker } from "../../remote-worker.ts";
import { showToEnd } from "../apply.ts";

export function undoCommand(context: Context): Command {
  const command = new Command("undo")
    .description("restore the previous classes in a new run, except for SIMs changed since")
    .argument("<run>", "id of a finished run")
    .option("--yes", "skip the confirmation; required without a terminal")
    .option("--no-sync", "use the inventory as it is, without syncing first")
    .option("--detach", "submit the run, print its id and return");
  return withCommon(command, "simfleet runs undo r-20261120-103045-x7k2 --yes").action(async (runId, options) => {
    const output = context.output(options);
    const undoing = { runId, context, output };
    const choice = { isAgreed: options.yes === true, syncs: options.sync, isDetached: options.detach === true };
    const exitCode = await context.ask(options, {
      here: async (app) => undo(await localActions(app, undoing), undoing, choice),
      there: async (worker) => undo(await remoteActions(worker, undoing), undoing, choice),
    });
    context.io.setExitCode(exitCode);
  }) as unknown as Command;
}

interface Undoing {
  readonly runId: string;
  readonly context: Context;
  readonly output: Output;
}

/** The operations, local or remote. */
interface Actions {
  /** SIMs that may be restored. */
  readonly total: number;
  sync(): Promise<{ report: SyncReport; exitCode: number }>;
  undo(): Promise<RunReport>;
  showToEnd(runId: string): Promise<number>;
}

async function undo(
  hands: Actions,
  { runId, context, output }: Undoing,
  choice: { isAgreed: boolean; syncs: boolean; isDetached: boolean },
): Promise<number> {
  const isTerminal = context.io.stdin.isTTY === true;
  // Without a terminal the confirmation fails: do that before the sync.
  if (!choice.isAgreed && !isTerminal) await confirm(context.io, "");
  if (choice.syncs) {
    output.say("Syncing first, so that later changes are not overwritten …");
    const { report, exitCode } = await hands.sync();
    if (report.state !== "finished") return exitCode;
  }
  if (!choice.isAgreed) {
    const question = `Restore the previous class of up to ${grouped(hands.total)} ${hands.total === 1 ? "SIM" : "SIMs"}?`;
    if (!(await confirm(context.io, question))) return declined(output);
  }
  const report = await hands.undo();
  if (choice.isDetached) {
    output.answer(report, (shown) => shown.runId);
    return 0;
  }
  output.say(`Run ${report.runId} restores ${grouped(report.counts.total)} rows of ${runId}.`);
  return hands.showToEnd(report.runId);
}

function declined(output: Output): number {
  output.say("Nothing was started.");
  return 2;
}

/** @throws SimfleetError RUN_STATE when there is nothing to undo */
async function localActions(app: App, { runId, context, output }: Undoing): Promise<Actions> {
  const { interrupt } = context.io;
  const { profile } = await app.runs.record(runId);
  const wording = app.wordingOf(profile);
  const { total } = await app.runs.planUndo(runId, wording);
  await app.client(profile).whoAmI(interrupt);
  return {
    total,
    sync: async () => {
      const client = localClient(endpointsOf(app), context.actor);
      await client.call(startSync, { query: { profile, restart: "true" } });
      return followSync({ client, app, output, profile, interrupt });
    },
    undo: () => app.runs.undo(runId, { wording, by: context.actor }),
    showToEnd: (newId) => showToEnd({ app, output, context, runId: newId }),
  };
}

/** @throws SimfleetError RUN_STATE when there is nothing to undo */
async function remoteActions(worker: RemoteWorker, { runId, context, output }: Undoing): Promise<Actions> {
  const { interrupt } = context.io;
  const path = `/v1/runs/${encodeURIComponent(runId)}`;
  const undone = (): Promise<RunReport> => worker.post<RunReport>(`${path}/undo`);
  const { profile, state, counts } = await worker.get<RunReport>(path);
  // Lets the worker report the error before a useless sync.
  if (!isRunOver(state) || counts.done === 0) await undone();
  return {
    total: counts.done,
    sync: async () => {
      const { client } = worker;
      await client.call(startSync, { query: { profile, restart: "true" } });
      return followSync({ client, app: undefined, output, profile, interrupt });
    },
    undo: undone,
    showToEnd: (newId) => showRemoteToEnd(worker, { runId: newId, output, interrupt }),
  };
}

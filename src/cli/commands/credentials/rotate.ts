/** `simfleet credentials rotate`: gives a Credential Set a new secret, and shows the progress. */
import { Command } from "@commander-js/extra-typings";
import type { App } from "#app/app.ts";
import { SimfleetError } from "#core/errors.ts";
import type { RotationReport } from "#jobs/credentials/report.ts";
import { type Context, confirm, withCommon } from "../../context.ts";
import { followRotation, followRemoteRotation } from "../../follow/follow-rotation.ts";
import type { Output } from "../../output.ts";
import type { RemoteWorker } from "../../remote-worker.ts";
import { rotationStatusText, waitText } from "../../rotation-text.ts";

export function rotateCommand(context: Context): Command {
  const command = new Command("rotate")
    .description(
      "rotate a secret, or resume its rotation; returns when it is done or waits for the grace period or a person",
    )
    .argument("<name>", "name of the rotation in the configuration")
    .option("--yes", "skip the confirmation")
    .option("--detach", "leave it to a worker and return immediately");
  return withCommon(command, "simfleet credentials rotate mqtt-psk").action(async (name, options) => {
    const output = context.output(options);
    const asked = { name, output, interrupt: context.io.interrupt };
    const choice = { profile: options.profile, isAgreed: options.yes === true, isDetached: options.detach === true };
    const exitCode = await context.ask(options, {
      here: (app) => rotate(localActions(app, { ...asked, by: context.actor }), { ...asked, context, choice }),
      there: (worker) => rotate(remoteActions(worker, asked), { ...asked, context, choice }),
    });
    context.io.setExitCode(exitCode);
  }) as unknown as Command;
}

interface Asked {
  readonly name: string;
  readonly output: Output;
  readonly interrupt: AbortSignal;
}

/** The operations, local or remote. */
interface Actions {
  /** The current rotation, and its Credential Set. */
  present(): Promise<RotationReport & { readonly set: string }>;
  rotate(): Promise<RotationReport>;
  follow(profile: string): Promise<{ report: RotationReport; exitCode: number }>;
  isServed(profile: string): Promise<boolean>;
}

async function rotate(
  hands: Actions,
  ask: Asked & {
    context: Context;
    choice: { profile: string | undefined; isAgreed: boolean; isDetached: boolean };
  },
): Promise<number> {
  const { name, output, context, choice } = ask;
  const { profile, nextStep, strategy, set } = await hands.present();
  if (choice.profile !== undefined && choice.profile !== profile) {
    throw new SimfleetError(
      "USAGE",
      `the rotation ${name} belongs to the profile ${profile}, not to ${choice.profile}`,
    );
  }
  if (nextStep === null && !choice.isAgreed) {
    const what = strategy === "successor" ? "a successor of" : "a new secret for";
    if (!(await confirm(context.io, `Create ${what} ${set} and deliver it to its sinks?`))) return 1;
  }
  const begun = await hands.rotate();
  if (nextStep !== null) output.say(`Resuming the rotation of ${begun.startedAt ?? ""}.`);
  if (choice.isDetached) {
    output.answer(begun, (shown) => shown.rotationId ?? "");
    if (!(await hands.isServed(profile))) {
      output.say(`No worker is running: the rotation continues with the next one (simfleet worker)`);
    }
    return 0;
  }
  const { report, exitCode } = await hands.follow(profile);
  output.answer(report, (shown) => rotationStatusText(shown));
  if (report.nextStep !== null) {
    output.say(waitText(report));
    if (!(await hands.isServed(profile))) {
      output.say(`No worker is running: run simfleet worker, or resume later with simfleet credentials rotate ${name}`);
    }
  }
  return exitCode;
}

function localActions(app: App, { by, ...asked }: Asked & { readonly by: string }): Actions {
  const { credentials } = app;
  const { name, interrupt } = asked;
  return {
    async present() {
      const { profile, strategy, credentialsId } = credentials.rotation(name);
      return { ...(await credentials.report(name)), profile, strategy, set: credentialsId };
    },
    rotate: () => credentials.rotate(name, { by, signal: interrupt }),
    follow: (profile) => followRotation({ ...asked, app, profile }),
    isServed: (profile) => credentials.isServed(profile),
  };
}

function remoteActions(worker: RemoteWorker, asked: Asked): Actions {
  const path = `/v1/rotations/${encodeURIComponent(asked.name)}`;
  return {
    async present() {
      const report = await worker.get<RotationReport>(path);
      return { ...report, set: report.credentialsId ?? report.name };
    },
    rotate: () => worker.post<RotationReport>(`${path}/rotate`),
    follow: () => followRemoteRotation({ ...asked, worker }),
    isServed: () => Promise.resolve(true),
  };
}

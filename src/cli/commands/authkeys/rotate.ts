/** `simfleet authkeys rotate`: replaces the AuthKey in use by a new one, while calls continue. */
import { Command } from "@commander-js/extra-typings";
import type { App } from "#app/app.ts";
import type { AuthKeyReport, AuthKeyRotationReport } from "#jobs/authkeys/report.ts";
import { type Context, confirm, withCommon } from "../../context.ts";
import { followAuthKey, followRemoteAuthKey } from "../../follow/follow-auth-key.ts";
import type { Output } from "../../output.ts";
import type { RemoteWorker } from "../../remote-worker.ts";

export function rotateCommand(context: Context): Command {
  const command = new Command("rotate")
    .description("create an AuthKey, deliver it to its sinks, and revoke the old one once it is unused")
    .option("--replace <id>", "revoke this AuthKey first, if the user already has two")
    .option("--yes", "skip the confirmation")
    .option("--detach", "leave it to a worker and return immediately");
  return withCommon(command, "simfleet authkeys rotate --profile plant --yes").action(async (options) => {
    const output = context.output(options);
    const { replace } = options;
    const asked = { replace, output, interrupt: context.io.interrupt };
    const choice = { replace, isAgreed: options.yes === true, isDetached: options.detach === true };
    const exitCode = await context.ask(options, {
      here: (app, { profile }) =>
        rotate(localActions(app, { ...asked, profile, by: context.actor }), { context, output, choice }),
      there: (worker) => rotate(remoteActions(worker, asked), { context, output, choice }),
    });
    context.io.setExitCode(exitCode);
  });
}

interface Asked {
  readonly replace: string | undefined;
  readonly output: Output;
  readonly interrupt: AbortSignal;
}

/** The operations, local or remote. */
interface Actions {
  /** `of`: whose AuthKey it is, in words. */
  plan(): Promise<{ oldId: string; of: string; goesOn: boolean }>;
  rotate(): Promise<AuthKeyRotationReport>;
  follow(profile: string): Promise<{ report: AuthKeyRotationReport; exitCode: number }>;
  isServed(profile: string): Promise<boolean>;
}

async function rotate(
  hands: Actions,
  ask: {
    context: Context;
    output: Output;
    choice: { replace: string | undefined; isAgreed: boolean; isDetached: boolean };
  },
): Promise<number> {
  const { context, output, choice } = ask;
  const { oldId, of, goesOn } = await hands.plan();
  if (goesOn) output.say(`Resuming the rotation of ${oldId}.`);
  else if (!choice.isAgreed) {
    const first = choice.replace === undefined ? "" : `Revoke ${choice.replace}, then replace`;
    if (!(await confirm(context.io, `${first || "Replace"} the AuthKey ${oldId} of ${of}?`))) return 1;
  }
  const begun = await hands.rotate();
  const { profile } = begun;
  if (choice.isDetached) {
    output.answer(begun, (shown) => shown.rotationId);
    if (!(await hands.isServed(profile))) {
      output.say(
        "No worker is running: the rotation starts with the next one (simfleet worker), or with: simfleet authkeys rotate",
      );
    }
    return 0;
  }
  const { report, exitCode } = await hands.follow(profile);
  output.answer(report, (shown) => rotationText(shown));
  return exitCode;
}

function localActions(app: App, { profile, replace, by, ...shown }: Asked & { profile: string; by: string }): Actions {
  return {
    plan: async () => ({ ...(await app.authKeys.plan(profile, replace)), of: profile }),
    rotate: () => app.authKeys.rotate(profile, { by, replaceId: replace }),
    follow: () => followAuthKey({ ...shown, app, profile }),
    isServed: () => app.authKeys.isServed(profile),
  };
}

function remoteActions(worker: RemoteWorker, { replace, ...shown }: Asked): Actions {
  const query = worker.ofProfile();
  return {
    async plan() {
      // Obstacles are reported by the request that starts the rotation, before anything has changed.
      const page = await worker.get<{ authKeys: AuthKeyReport[]; rotation: AuthKeyRotationReport | null }>(
        "/v1/authkeys",
        query,
      );
      const { authKeys, rotation } = page;
      const goesOn = rotation !== null && rotation.now !== null;
      const inUse = authKeys.find(({ configured }) => configured === "first")?.authKeyId ?? "in use";
      const oldId = goesOn ? (rotation.oldAuthKeyId ?? inUse) : inUse;
      return { oldId, of: String(query.profile ?? "the worker's own profile"), goesOn };
    },
    rotate: () =>
      worker.post<AuthKeyRotationReport>("/v1/authkeys/rotate", {
        query,
        body: replace === undefined ? undefined : { replace },
      }),
    follow: (profile) => followRemoteAuthKey({ ...shown, worker, profile }),
    isServed: () => Promise.resolve(true),
  };
}

function rotationText({ state, oldAuthKeyId, newAuthKeyId, reason, now }: AuthKeyRotationReport): string {
  if (state === "done") return `${newAuthKeyId} is in use, and ${oldAuthKeyId} is revoked.`;
  if (state === "failed")
    return `The rotation was rolled back, and ${oldAuthKeyId ?? "the old AuthKey"} stays in use: ${reason}`;
  return `In progress: ${now}`;
}

/** `simfleet authkeys …`: the AuthKeys of the user that a profile authenticates as. */
import { authKeys } from "../feature.ts";
import { type AuthKeyReport, listAuthKeys, type AuthKeyRotationReport, showAuthKeyRotation } from "../contract.ts";
import { type Context, withCommon, type Caller, confirm } from "#cli/context.ts";
import { answerList, type List, withListOptions } from "#cli/list.ts";
import { Command } from "@commander-js/extra-typings";
import * as routes from "../contract.ts";
import { type End, followWork, showStatus } from "#cli/follow/follow-work.ts";
import { systemClock } from "#core/time.ts";
import type { Output } from "#cli/output.ts";
import { problemText } from "#cli/format.ts";

export function authKeysCommand(context: Context): Command {
  return new Command("authkeys").addCommand(listCommand(context)).addCommand(rotateCommand(context));
}

function listCommand(context: Context): Command {
  const command = new Command("list").description(
    "list AuthKeys with their age and who uses them; never shows a secret",
  );
  return withCommon(withListOptions(command), "simfleet authkeys list").action(async (options) => {
    const output = context.output(options);
    const page = await context.connect(options, ({ client, profile }) =>
      client.call(listAuthKeys, { query: { profile } }),
    );
    const { rotation } = page;
    answerList(output, page, keyList, options);
    if (rotation !== null && rotation.now !== null && !output.isJson) {
      output.say(`The rotation ${rotation.rotationId} is in progress: ${rotation.now}`);
    }
  });
}

const keyList: List<"authKeys", AuthKeyReport> = {
  name: "authKeys",
  route: listAuthKeys,
  empty: "The user has no AuthKey.",
  columns: [
    { name: "authKeyId", heading: "authkey" },
    {
      name: "ageDays",
      heading: "age",
      value: ({ ageDays }) => (ageDays === null ? "?" : `${ageDays} d`),
    },
    { name: "lastUsedAt", heading: "last used" },
    { name: "configured" },
    { name: "usedBy" },
  ],
};

// `simfleet authkeys rotate`: replaces the AuthKey in use by a new one, while calls continue.

function rotateCommand(context: Context): Command {
  const command = new Command("rotate")
    .description("create an AuthKey, deliver it to its sinks, and revoke the old one once it is unused")
    .option("--replace <id>", "revoke this AuthKey first, if the user already has two")
    .option("-y, --yes", "skip the confirmation; required without a terminal")
    .option("--wait", "wait until the old AuthKey is revoked, which can take a day")
    .option("--detach", "leave it to a worker and return immediately");
  return withCommon(command, "simfleet authkeys rotate --profile plant --yes").action(async (options) => {
    const output = context.output(options);
    const { replace } = options;
    const flags = {
      replace,
      isAgreed: options.yes === true,
      isDetached: options.detach === true,
      untilRevoked: options.wait === true,
    };
    const exitCode = await context.connect(options, (caller) => rotate(caller, { context, output, flags }));
    context.io.setExitCode(exitCode);
  });
}

async function rotate(
  caller: Caller,
  deps: {
    context: Context;
    output: Output;
    flags: { replace: string | undefined; isAgreed: boolean; isDetached: boolean; untilRevoked: boolean };
  },
): Promise<number> {
  const { client, profile: named, app } = caller;
  const { context, output, flags } = deps;
  const { replace } = flags;
  const plan = await client.call(routes.planAuthKeyRotation, { query: { profile: named, replace } });
  const { profile, oldAuthKeyId, isInProgress } = plan;
  const oldId = oldAuthKeyId ?? "in use";
  if (isInProgress) output.say(`Resuming the rotation of ${oldId}.`);
  else if (!flags.isAgreed) {
    const question =
      replace === undefined
        ? `Replace the AuthKey ${oldId} of ${profile}?`
        : `Revoke ${replace}, then replace the AuthKey ${oldId} of ${profile}?`;
    if (!(await confirm(context.io, question))) return 1;
  }
  const body = replace === undefined ? undefined : { replace };
  const begun = await client.call(routes.rotateAuthKey, { query: { profile }, body });
  if (flags.isDetached) {
    output.answer(begun, (shown) => shown.rotationId);
    // A remote worker carries rotations out itself.
    const isServed = app === undefined || (await app.service(authKeys).service.isServed(profile));
    if (!isServed) {
      output.say(
        "No worker is running: the rotation starts with the next one (simfleet worker), or with: simfleet authkeys rotate",
      );
    }
    return 0;
  }
  const { interrupt } = context.io;
  const { report, exitCode } = await followAuthKey(caller, {
    profile,
    output,
    interrupt,
    untilRevoked: flags.untilRevoked,
  });
  output.answer(report, (shown) => rotationText(shown));
  const needsWorker = report.state === "active" && !interrupt.aborted && app !== undefined;
  if (needsWorker && !(await app.service(authKeys).service.isServed(profile))) {
    output.say(
      "No worker is running: start one (simfleet worker), or revoke later with: simfleet authkeys rotate --wait",
    );
  }
  return exitCode;
}

function rotationText({ state, oldAuthKeyId, newAuthKeyId, reason, now, revokesAt }: AuthKeyRotationReport): string {
  if (state === "done") return `${newAuthKeyId} is in use, and ${oldAuthKeyId} is revoked.`;
  if (state === "failed")
    return `The rotation was rolled back, and ${oldAuthKeyId ?? "the old AuthKey"} stays in use: ${reason}`;
  if (revokesAt !== null)
    return `${newAuthKeyId} is in use. ${oldAuthKeyId ?? "The old AuthKey"} will be revoked at ${revokesAt} if it stays unused until then.`;
  return `In progress: ${now}`;
}

// Follows the rotation of an AuthKey until it ends.

interface Ask {
  readonly profile: string;
  readonly output: Output;
  readonly interrupt: AbortSignal;
  /** Until the old AuthKey is revoked, which can take a day; else until only that is left. */
  readonly untilRevoked: boolean;
}

/** @returns the last report of the rotation, and the exit code */
function followAuthKey(
  { client, app }: Pick<Caller, "client" | "app">,
  { profile, output, interrupt, untilRevoked }: Ask,
): Promise<{ report: AuthKeyRotationReport; exitCode: number }> {
  return followWork<AuthKeyRotationReport>({
    output,
    interrupt,
    what: "rotation",
    isRemote: app === undefined,
    resumeCommand: "simfleet authkeys rotate",
    localWork:
      app === undefined
        ? undefined
        : {
            isServed: () => app.service(authKeys).service.isServed(profile),
            work: (onIncident) => app.service(authKeys).consume(profile, onIncident),
          },
    report: () => client.call(showAuthKeyRotation, { query: { profile } }),
    endOf: (report) => endOf(report, untilRevoked),
    show: showStatus(output, ({ now, problem }) => ({
      text: `AuthKey of ${profile}: ${problem === undefined ? now : problemText(problem)}`,
      topic: `${now} ${problem?.attempts ?? 0}`,
    })),
    leaving: (_, { wasLocal }) => ({
      exitCode: 1,
      lines: [
        wasLocal
          ? "Nothing is lost, and no AuthKey in use is revoked. Resume with: simfleet authkeys rotate"
          : "The rotation continues in its worker. Follow it with: simfleet authkeys rotate",
      ],
    }),
  });
}

/** A command waits this long for a revocation without being asked to. */
const shortWaitMs = 60_000;

function endOf({ state, problem, revokesAt }: AuthKeyRotationReport, untilRevoked: boolean): End | undefined {
  // It was quarantined.
  if (problem?.nextAttemptAt === null) return { exitCode: 1 };
  if (state === "done") return { exitCode: 0 };
  if (state === "failed") return { exitCode: 1 };
  const isLong = revokesAt !== null && Date.parse(revokesAt) - systemClock.wallMs() > shortWaitMs;
  return isLong && !untilRevoked ? { exitCode: 0 } : undefined;
}

/** `simfleet authkeys …`: the AuthKeys of the user that a profile authenticates as. */
import { authKeys } from "../feature.ts";
import { type Context, withCaller, yesOption } from "#cli/context.ts";
import { answerList, listOf, withListOptions } from "#cli/list.ts";
import { Command } from "@commander-js/extra-typings";
import * as routes from "../contract.ts";
import { followWork, localWork, sayIfUnserved, showStatus } from "#cli/follow/follow-work.ts";
import { systemClock } from "#core/time.ts";
import { problemText } from "#cli/format.ts";

export function authKeysCommand(context: Context): Command {
  return new Command("authkeys")
    .addCommand(listCommand(context), { isDefault: true })
    .addCommand(rotateCommand(context));
}

function listCommand(context: Context): Command {
  const command = new Command("list")
    .description("List AuthKeys with their age and who uses them; never shows a secret")
    .option("--user <name>", userText);
  const example = "simfleet authkeys list\nsimfleet authkeys list --user robot";
  return withCaller(context, withListOptions(command), example, async (caller, { user, ...options }) => {
    const { client, profile, output } = caller;
    const page = await client.call(routes.listAuthKeys, { query: { profile, user } });
    const { rotation } = page;
    answerList(output, page, keyList, options);
    if (rotation !== null && rotation.now !== null && !output.isJson) {
      output.say(`The rotation ${rotation.rotationId} is in progress: ${rotation.now}`);
    }
  });
}

const userText =
  "sub-user whose AuthKeys to manage; the profile needs the permission, which the Root user has (default: the profile's own user)";

const keyList = listOf("authKeys", routes.listAuthKeys, {
  empty: "The user has no AuthKey.",
  columns: [
    { name: "authKeyId", heading: "authkey" },
    { name: "ageDays", heading: "age", value: ({ ageDays }) => (ageDays === null ? "?" : `${ageDays} d`) },
    { name: "lastUsedAt", heading: "last used" },
    { name: "configured" },
    { name: "usedBy" },
  ],
});

function rotateCommand(context: Context): Command {
  const command = new Command("rotate")
    .description("Create an AuthKey, deliver it to its sinks, and revoke the old one once it is unused")
    .option("--user <name>", userText)
    .option("--replace <id>", "revoke this AuthKey first, if the user already has two")
    .addOption(yesOption())
    .option("--wait", "wait until the old AuthKey is revoked, which can take a day")
    .option("--detach", "return immediately; needs a running worker");
  return withCaller(context, command, "simfleet authkeys rotate --profile plant --yes", async (caller, flags) => {
    const { client, output, interrupt, profile: selected } = caller;
    const { replace, user } = flags;
    const plan = await client.call(routes.planAuthKeyRotation, { query: { profile: selected, user, replace } });
    const { profile, oldAuthKeyId, isInProgress } = plan;
    const oldId = oldAuthKeyId ?? "in use";
    if (isInProgress) output.say(`Resuming the rotation of ${oldId}.`);
    else {
      const first = replace === undefined ? "Replace" : `Revoke ${replace}, then replace`;
      const question = `${first} the AuthKey ${oldId} of ${user ?? profile}?`;
      if (!(await context.isConfirmed(flags, question, "changed"))) return 2;
    }
    const body = replace === undefined ? undefined : { replace };
    const begun = await client.call(routes.rotateAuthKey, { query: { profile, user }, body });
    const work = localWork(caller.app, authKeys, { profile, user });
    const resumeCommand = `simfleet authkeys rotate${user === undefined ? "" : ` --user ${user}`}`;
    if (flags.detach === true) {
      output.answer(begun, (shown) => shown.rotationId);
      const hint = "No worker is running: the rotation starts with the next one (simfleet worker), or with:";
      await sayIfUnserved(work, output, `${hint} ${resumeCommand}`);
      return 0;
    }
    const { report, exitCode } = await followWork<routes.AuthKeyRotationReport>({
      ...caller,
      what: "rotation",
      resumeCommand,
      localWork: work,
      report: () => client.call(routes.showAuthKeyRotation, { query: { profile, user } }),
      endOf: (shown) => decideEnd(shown, flags),
      show: showStatus(output, ({ now, problem }) => ({
        text: `AuthKey of ${user ?? profile}: ${problem === undefined ? now : problemText(problem)}`,
        topic: `${now} ${problem?.attempts ?? 0}`,
      })),
      leaving: (_, { wasLocal }) => ({
        exitCode: 1,
        lines: [`${wasLocal ? stoppedText : leftText} ${resumeCommand}`],
      }),
    });
    output.answer(report, (shown) => rotationText(shown));
    if (report.state === "active" && !interrupt.aborted) {
      const hint = "No worker is running: start one (simfleet worker), or revoke later with:";
      await sayIfUnserved(work, output, `${hint} ${resumeCommand} --wait`);
    }
    return exitCode;
  });
}

const stoppedText = "Nothing is lost, and no AuthKey in use is revoked. Resume with:";
const leftText = "The rotation continues in its worker. Follow it with:";

function rotationText({ state, oldAuthKeyId, newAuthKeyId, reason, now, revokesAt }: routes.AuthKeyRotationReport) {
  if (state === "done") return `${newAuthKeyId} is in use, and ${oldAuthKeyId} is revoked.`;
  if (state === "failed")
    return `The rotation was rolled back, and ${oldAuthKeyId ?? "the old AuthKey"} stays in use: ${reason}`;
  if (revokesAt !== null)
    return `${newAuthKeyId} is in use. ${oldAuthKeyId ?? "The old AuthKey"} will be revoked at ${revokesAt} if it stays unused until then.`;
  return `In progress: ${now}`;
}

/** A command waits this long for a revocation without being asked to. */
const shortWaitMs = 60_000;

function decideEnd({ state, problem, revokesAt }: routes.AuthKeyRotationReport, { wait }: { wait?: true }) {
  const isQuarantined = problem?.nextAttemptAt === null;
  if (isQuarantined || state === "failed") return { exitCode: 1 };
  if (state === "done") return { exitCode: 0 };
  const isLong = revokesAt !== null && Date.parse(revokesAt) - systemClock.wallMs() > shortWaitMs;
  return isLong && wait !== true ? { exitCode: 0 } : undefined;
}

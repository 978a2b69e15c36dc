/** `simfleet credentials …`: the account's Credential Sets and their rotation. */
import * as routes from "../contract.ts";
import { credentials } from "../feature.ts";
import { type Context, type ProcessIo, withCaller, yesOption } from "#cli/context.ts";
import { readSecretFile } from "#config/secrets/secret-file.ts";
import { Secret } from "#core/secrets/secret.ts";
import { SimfleetError } from "#core/errors.ts";
import { followWork, localWork, sayIfUnserved, showStatus } from "#cli/follow/follow-work.ts";
import { addAbortSignal } from "node:stream";
import { text as textOf } from "node:stream/consumers";
import { Command, Option } from "@commander-js/extra-typings";
import { listOf, answerList, listCommand, withListOptions } from "#cli/list.ts";
import { problemText, duration } from "#cli/format.ts";
import { systemClock } from "#core/time.ts";

export function credentialsCommand(context: Context): Command {
  return new Command("credentials")
    .addCommand(
      listCommand(context, "credentials", setList, "List the account's Credential Sets: age, last use, references"),
    )
    .addCommand(putCommand(context, "create"))
    .addCommand(putCommand(context, "update"))
    .addCommand(deleteCommand(context))
    .addCommand(rotateCommand(context))
    .addCommand(confirmCommand(context))
    .addCommand(statusCommand(context), { isDefault: true });
}

const setList = listOf("credentials", routes.listCredentials, {
  empty: "The account has no Credential Set.",
  columns: [
    { name: "credentialsId" },
    { name: "type" },
    { name: "age", value: ({ updatedAt, createdAt }) => ageText(updatedAt ?? createdAt) },
    { name: "lastUsedAt", heading: "last used" },
    { name: "rotation" },
    { name: "references", heading: "referenced by", value: ({ references }) => referencesText(references) },
  ],
});

// `simfleet credentials create`, `update`, `delete`. No value is an argument: other users of the machine see those.

function putCommand(context: Context, how: "create" | "update"): Command {
  const isNew = how === "create";
  const command = new Command(how)
    .description(isNew ? "Create a Credential Set" : "Replace the secret of a Credential Set")
    .argument("<id>", "ID of the set")
    .requiredOption("--value-file <file>", "file with the secret, private to its owner; - for standard input")
    .addOption(new Option("--type <type>", "its type, such as psk").makeOptionMandatory(isNew))
    .option("--field <name>", "field that the value is for (default: the type's only field; a JSON object has all)")
    .option("--description <text>", isNew ? "a note" : "another note")
    .addOption(yesOption().hideHelp(isNew));
  const example = `simfleet credentials ${how} mqtt --type psk --value-file mqtt.key`;
  return withCaller(context, command, example, async ({ client, profile, output }, credentialsId, options) => {
    const { valueFile, type, field, description } = options;
    const route = isNew ? routes.createCredentials : routes.updateCredentials;
    const question = `Replace the secret of ${credentialsId}?`;
    if (!isNew && !(await context.isConfirmed(options, question, "changed"))) return 2;
    const value = (await valueIn(valueFile, context.io)).reveal();
    const body = { type: type as string, field, description, value };
    const set = await client.call(route, { params: { credentialsId }, query: { profile }, body });
    output.answer(set, () => `${credentialsId} was ${how}d.`);
    return 0;
  });
}

/** @returns a Secret, so that no output shows it. @throws SimfleetError USAGE */
async function valueIn(file: string, { stdin, interrupt }: ProcessIo): Promise<Secret> {
  if (file === "-" && !stdin.isTTY) {
    return new Secret((await textOf(addAbortSignal(interrupt, stdin))).replace(/\r?\n$/, ""));
  }
  const read = file === "-" ? { fault: "A terminal shows what is typed: pipe the value in." } : readSecretFile(file);
  if ("secret" in read) return new Secret(read.secret);
  throw new SimfleetError("USAGE", read.fault);
}

function deleteCommand(context: Context): Command {
  const command = new Command("delete")
    .description("Delete a Credential Set to which no group refers")
    .argument("<id>", "ID of the set")
    .addOption(yesOption());
  const example = "simfleet credentials delete mqtt-old";
  return withCaller(context, command, example, async ({ client, profile, output }, credentialsId, options) => {
    if (!(await context.isConfirmed(options, `Delete the Credential Set ${credentialsId}?`, "deleted"))) return 2;
    await client.call(routes.deleteCredentials, { params: { credentialsId }, query: { profile } });
    output.answer({ credentialsId, deleted: true }, () => `${credentialsId} was deleted.`);
    return 0;
  });
}

function confirmCommand(context: Context): Command {
  const command = new Command("confirm")
    .description("Confirm that the old set is no longer referenced; its grace period then starts")
    .argument("<name>", "name of the rotation in the configuration");
  return withCaller(context, command, "simfleet credentials confirm mqtt-psk", async (caller, name) => {
    const report = await caller.client.call(routes.confirmRotation, { params: { name } });
    caller.output.answer(report, (shown) => rotationStatusText(shown));
    const hint = `No worker is running: run simfleet worker, or resume with simfleet credentials rotate ${name}`;
    await sayIfUnserved(localWork(caller.app, credentials, report.profile), caller.output, hint);
  });
}

function rotateCommand(context: Context): Command {
  const command = new Command("rotate")
    .description(
      "Rotate a secret or resume its rotation; returns when it is done or has to wait for its grace period or a confirmation",
    )
    .argument("<name>", "name of the rotation in the configuration")
    .addOption(yesOption())
    .option("--detach", "return immediately; needs a running worker");
  return withCaller(context, command, "simfleet credentials rotate mqtt-psk", async (caller, name, flags) => {
    const { client, output } = caller;
    const params = { name };
    const resumeCommand = `simfleet credentials rotate ${name}`;
    const { profile, nextStep, strategy, credentialsId } = await client.call(routes.showRotation, { params });
    if (flags.profile !== undefined && flags.profile !== profile) {
      throw new SimfleetError(
        "USAGE",
        `the rotation ${name} belongs to the profile ${profile}, not to ${flags.profile}`,
      );
    }
    if (nextStep === null) {
      const set = credentialsId ?? name;
      const what = strategy === "successor" ? `a successor of ${set}` : `a new secret for ${set}`;
      if (!(await context.isConfirmed(flags, `Create ${what} and deliver it to its sinks?`, "changed"))) return 2;
    }
    const begun = await client.call(routes.rotateCredentials, { params });
    const work = localWork(caller.app, credentials, profile);
    if (nextStep !== null) output.say(`Resuming the rotation of ${begun.startedAt ?? ""}.`);
    if (flags.detach === true) {
      output.answer(begun, (shown) => shown.rotationId ?? "");
      const hint = "No worker is running: the rotation continues with the next one (simfleet worker)";
      await sayIfUnserved(work, output, hint);
      return 0;
    }
    const { report, exitCode } = await followWork<routes.RotationReport>({
      ...caller,
      what: "rotation",
      resumeCommand,
      localWork: work,
      report: () => client.call(routes.showRotation, { params }),
      endOf: decideEnd,
      show: showStatus(output, describeRotation),
      leaving: () => ({ exitCode: 1, lines: [`Nothing is lost. Resume with: ${resumeCommand}`] }),
    });
    output.answer(report, (shown) => rotationStatusText(shown));
    if (report.nextStep === null) return exitCode;
    output.say(waitText(report));
    const hint = `No worker is running: run simfleet worker, or resume later with ${resumeCommand}`;
    await sayIfUnserved(work, output, hint);
    return exitCode;
  });
}

function describeRotation({ name, state, nextStep, problem }: routes.RotationReport) {
  const why = problem === undefined ? "" : `: ${problemText(problem)}`;
  return nextStep === null
    ? undefined
    : { text: `${name}: ${nextStep}${why}`, topic: `${state} ${problem?.attempts ?? 0}` };
}

/** A rotation is followed until it ends or has to wait for hours: for its grace period or a user. */
function decideEnd({ state, waitsFor }: routes.RotationReport) {
  if (state === "done") return { exitCode: 0 };
  if (state === "failed" || waitsFor === "quarantined") return { exitCode: 1 };
  return waitsFor === null || waitsFor === "fault" ? undefined : { exitCode: 0 };
}

function statusCommand(context: Context): Command {
  const command = new Command("status").description(
    "List rotations: state, age of the secret, last use, next step, references",
  );
  const example = "simfleet credentials status --json";
  return withCaller(context, withListOptions(command), example, async ({ client, output }, options) => {
    // Of all profiles, unless the command names one.
    const status = await client.call(routes.listRotations, { query: { profile: options.profile } });
    answerList(output, status, rotationList, options);
    for (const [profile, reason] of Object.entries(status.unknown)) {
      output.say(`The Credential Sets of ${profile} could not be read: ${reason}`);
    }
  });
}

const rotationList = listOf("rotations", routes.listRotations, {
  empty: "No rotations. Add them under `rotations` in the configuration (docs/rotation.md).",
  columns: [
    { name: "name", heading: "rotation" },
    { name: "state" },
    { name: "credentialsId", heading: "set" },
    { name: "age", value: ({ rotatedAt }) => ageText(rotatedAt) },
    { name: "lastUsedAt", heading: "last used" },
    { name: "nextAt", heading: "next" },
    {
      name: "references",
      heading: "referenced by",
      value: ({ credentialsId, references }) => (credentialsId === null ? "-" : referencesText(references)),
    },
  ],
  below: (rotations) =>
    rotations.filter(({ reason, nextStep }) => reason !== null || nextStep !== null).map(rotationStatusText),
});

// Renders a rotation as text for a terminal.

/** One line: the status of the rotation, and what it waits for. */
export function rotationStatusText(report: routes.RotationReport): string {
  const { name, state, credentialsId, reason, nextStep, nextAt, handedTo, waitsFor, problem } = report;
  switch (state) {
    case "never":
      return `${name} has not been rotated yet.`;
    case "done":
      return `${name} was rotated: ${credentialsId ?? "the set"} has the new secret.${reason === null ? "" : ` ${reason}.`}`;
    case "failed": {
      const sinks = handedTo.length === 0 ? "" : ` These already have the new value: ${handedTo.join(", ")}.`;
      return `The rotation ${name} failed, and the old secret stays in use: ${reason ?? "unknown reason"}.${sinks}`;
    }
    default: {
      // The reason of a grace period repeats the state.
      const reasonText = reason === null || waitsFor === "grace" ? "" : `\n  ${reason}.`;
      const why = problem === undefined ? reasonText : `\n  ${problemText(problem)}`;
      return `The rotation ${name} is in progress. Next step: ${nextStep ?? ""}${nextAt === null ? "" : `, at ${nextAt}`}.${why}`;
    }
  }
}

function waitText({ waitsFor, nextAt, reason }: routes.RotationReport): string {
  switch (waitsFor) {
    case "grace":
      return `The new secret is active. The old set will be deleted${nextAt === null ? "" : ` after ${nextAt}`} if unused.`;
    case "confirmation":
    case "quarantined":
      return `Action needed: ${reason ?? ""}.`;
    case "reference":
      return `The rotation continues automatically when nothing blocks it: ${reason ?? ""}.`;
    default:
      return reason === null
        ? "It is in progress."
        : `The next attempt is${nextAt === null ? "" : ` at ${nextAt}`}: ${reason}.`;
  }
}

// Columns that the tables of Credential Sets share.

/** How long ago an instant was; `-` where it is not known. */
function ageText(instant: string | null): string {
  return instant === null ? "-" : duration(Math.max(0, systemClock.wallMs() - Date.parse(instant)));
}

function referencesText(references: routes.SetReport["references"]): string {
  if (references === null) return "unknown";
  if (references.length === 0) return "nothing";
  const places = references.map(({ groupId, namespace, how }) => `${groupId}/${namespace}${how === "id" ? "" : "?"}`);
  const first = places.slice(0, 3).join(" ");
  return places.length > 3 ? `${first} and ${places.length - 3} more` : first;
}

/** The section `rotations`: which Credential Sets are rotated, how, and the sinks of the new secret. */
import { z } from "zod";
import type { Problem } from "#core/errors.ts";
import { webhookKey } from "#core/webhook-secret.ts";
import type { Command, Recipe, Rotation, SecretSource, Sink } from "#fleet/rotation.ts";
import { successorSuffixLength } from "#fleet/rotation.ts";
import type { Deployment } from "#config/deployment.ts";
import { oneOf, integer, type Kind, number, path, text, webAddress, yesOrNo } from "#config/value-types.ts";
import { readSecretFile } from "#config/secrets/secret-file.ts";
import { defaulted, given, hasOneOf, optional, readSection, says } from "#config/section.ts";
import { suggestion } from "#core/suggest.ts";
import type { Tree } from "#config/file/yaml-file.ts";

const dayMs = 86_400_000;
/** A secret with fewer bits can be guessed. */
const leastBits = 64;
const maxIdLength = 100;

const field = text("the name of a field: letters, digits and _", /^[A-Za-z][A-Za-z0-9_]{0,63}$/);
const command: Kind<Command> = {
  schema: z.tuple([z.string().min(1)], z.string()).refine((words) => words.every((word) => !word.includes("\0"))),
  expects: "a program and its arguments, such as `[/usr/local/bin/store, mqtt]`",
};
const constants: Kind<Readonly<Record<string, string>>> = {
  schema: z.record(z.string().regex(/^[A-Za-z][A-Za-z0-9_]{0,63}$/), z.string().min(1).max(65_536)),
  expects: "a mapping of fields to texts (put numbers in quotes)",
};

const generate = z
  .strictObject({
    field: given(field, "Field of the Credential Set for the new value."),
    bytes: optional(integer(8, 4_096), "Random bytes of the value; their text is longer."),
    encoding: defaulted(oneOf(["base64url", "base64", "hex"]), "How the bytes are written.", "base64url"),
    length: optional(integer(1, 4_096), "Instead of `bytes`: how many characters of `alphabet`."),
    alphabet: optional(
      text("2 to 94 printable characters without a repeat", /^[\x21-\x7e]{2,94}$/),
      "The characters to draw from.",
    ),
  })
  .refine(hasOneOf("bytes", "length"), says("must have either bytes or length."))
  .refine(
    ({ length, alphabet }) => (length === undefined) === (alphabet === undefined),
    says("must have length and alphabet together."),
  )
  .refine(({ alphabet }) => typeof alphabet !== "string" || new Set(alphabet).size === alphabet.length, {
    ...says("must not have a character twice."),
    path: ["alphabet"],
  })
  .refine(
    ({ length, alphabet }) =>
      typeof length !== "number" ||
      typeof alphabet !== "string" ||
      length * Math.log2(new Set(alphabet).size) >= leastBits,
    { ...says(`is too short: length and alphabet have to make ${leastBits} bits at least.`), path: ["length"] },
  );

const from = z
  .strictObject({
    command: optional(command, "Program that prints the new value on its standard output."),
    file: optional(path, "File with the new value; only its owner may be able to read it."),
    field: optional(
      field,
      "Field that the value is for.",
      "none: command or file gives a JSON object of all secret fields",
    ),
  })
  .refine(hasOneOf("command", "file"), says("must have either command or file."));

/** Receivers of a new secret. */
export const sink = z
  .strictObject({
    file: optional(path, "File to replace with one that holds the new secret; its folder must exist."),
    command: optional(command, "Program that reads the new secret from its standard input; it may be run twice."),
    webhook: z
      .strictObject({
        url: given(webAddress, "Where the signed message with the new secret is sent."),
        secretFile: given(path, "File of the secret that signs it (`whsec_…`)."),
        allowPrivate: optional(yesOrNo, "Whether the address may lead into a private network.", "`false`"),
      })
      .optional(),
  })
  .refine(hasOneOf("file", "command", "webhook"), says("must have exactly one of file, command and webhook."));

const idText = text("an id: letters, digits, `.`, `_` and `-`", /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/);

const structure = z
  .strictObject({
    profile: defaulted(
      text("the name of a profile", /^[A-Za-z0-9_-]{1,64}$/),
      "Account of the Credential Set.",
      "default",
    ),
    type: given(text("the type of a Credential Set", /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/), "Its type, such as `psk`."),
    credentialsId: optional(idText, "Its id; successors get a timestamp appended.", "the rotation's name"),
    description: optional(text("a line of text", /^[^\0\r\n]{1,200}$/), "Its description."),
    generate: generate.optional(),
    from: from.optional(),
    with: optional(constants, "Constant fields that are not secret, such as a user name."),
    strategy: defaulted(
      oneOf(["successor", "in-place"]),
      "`successor` creates a new set and deletes the old one once it is unused; `in-place` gives the set a new secret.",
      "successor",
    ),
    graceSeconds: defaulted(number(0, 31_536_000), "How long the old set must be unused before it is deleted.", 86_400),
    maxAgeDays: optional(number(0.001, 3_650), "Age at which the event `credential.expiring` is emitted."),
    sinks: z.array(sink, "must be a list of sinks.").min(1, "must have a sink that is handed the new secret."),
  })
  .refine(hasOneOf("generate", "from"), says("must have either generate or from."));

export const rotationsSection = {
  path: "rotations",
  schema: structure,
  about: "Credential Sets whose secrets are rotated, each with a name. See docs/credentials.md.",
} as const;

/** Reads the section and checks it against what the deployment knows of types and the file of profiles. */
export function readRotations(
  tree: Tree,
  known: { readonly deployment: Deployment; readonly profiles: readonly string[] },
  problems: Problem[],
): Readonly<Record<string, Rotation>> {
  const rotations: [string, Rotation][] = [];
  for (const [name, written] of readSection(tree, rotationsSection, problems)) {
    const read = rotationOf(name, written);
    problems.push(...meaningFaults(read, known));
    rotations.push([name, read]);
  }
  problems.push(...sharedSets(rotations.map(([, one]) => one)));
  return Object.fromEntries(rotations);
}

type Written = z.output<typeof structure>;

function rotationOf(name: string, written: Written): Rotation {
  const { profile, type, description, strategy, graceSeconds, maxAgeDays } = written;
  return {
    ...{ name, profile, type, description, strategy },
    credentialsId: written.credentialsId ?? name,
    source: sourceOf(written),
    constants: written.with ?? {},
    graceMs: graceSeconds * 1_000,
    maxAgeMs: maxAgeDays === undefined ? undefined : maxAgeDays * dayMs,
    sinks: written.sinks.map(sinkOf),
  };
}

function sourceOf({ generate: made, from: read }: Written): SecretSource {
  if (made !== undefined) return { kind: "generate", field: made.field, recipe: recipeOf(made) };
  if (read?.command !== undefined) return { kind: "command", command: read.command, field: read.field };
  return { kind: "file", path: read?.file ?? "", field: read?.field };
}

function recipeOf({ bytes, encoding, length, alphabet }: NonNullable<Written["generate"]>): Recipe {
  if (bytes !== undefined) return { kind: "bytes", bytes, encoding };
  return { kind: "letters", length: length ?? 0, alphabet: alphabet ?? "" };
}

export function sinkOf({ file, command: program, webhook }: z.output<typeof sink>): Sink {
  if (file !== undefined) return { kind: "file", path: file };
  if (program !== undefined) return { kind: "command", command: program };
  const { url = "", secretFile = "", allowPrivate } = webhook ?? {};
  return { kind: "webhook", url, secretFile, ...(allowPrivate === true && { allowPrivate }) };
}

/** Problems of settings that are well formed but cannot work. */
function meaningFaults(
  rotation: Rotation,
  { deployment, profiles }: { readonly deployment: Deployment; readonly profiles: readonly string[] },
): Problem[] {
  const at = `${rotationsSection.path}.${rotation.name}`;
  const { profile, credentialsId, strategy, sinks } = rotation;
  const problems: Problem[] = [];
  if (!profiles.includes(profile)) {
    const message = `There is no profile ${profile}.${suggestion(profile, profiles)}`;
    problems.push({ where: `${at}.profile`, message });
  }
  if (strategy === "successor" && credentialsId.length + successorSuffixLength + 1 > maxIdLength) {
    const most = maxIdLength - successorSuffixLength - 1;
    problems.push({ where: `${at}.credentialsId`, message: `is too long for successors: ${most} characters at most.` });
  }
  problems.push(...fieldFaults(rotation, deployment.credentialTypes), ...sinkFaults(at, sinks));
  return problems;
}

/** @param at path of what has the sinks */
export function sinkFaults(at: string, sinks: readonly Sink[]): Problem[] {
  const problems: Problem[] = [];
  for (const [i, one] of sinks.entries()) {
    if (one.kind !== "webhook") continue;
    const read = readSecretFile(one.secretFile);
    const where = `${at}.sinks.${i}.webhook.secretFile`;
    if ("fault" in read) problems.push({ where, message: read.fault });
    else if (webhookKey(read.secret) === undefined) {
      problems.push({ where, message: "must hold whsec_ and 24 to 64 bytes in base64." });
    }
  }
  return problems;
}

/** A JSON object of all fields can be looked at only when it is there. */
function fieldFaults(
  { name, type, source, constants: fixed }: Rotation,
  types: Deployment["credentialTypes"],
): Problem[] {
  const at = `${rotationsSection.path}.${name}`;
  const made = source.field;
  if (made !== undefined && Object.hasOwn(fixed, made)) {
    return [{ where: `${at}.with.${made}`, message: "is the field that gets the new secret. Take it out." }];
  }
  const needed = Object.hasOwn(types, type) ? types[type] : undefined;
  if (needed === undefined || made === undefined) return [];
  const missing = needed.filter((one) => one !== made && !Object.hasOwn(fixed, one));
  if (missing.length === 0) return [];
  const meant = needed.includes(made) ? "" : suggestion(made, needed);
  return [
    {
      where: `${at}.${source.kind === "generate" ? "generate" : "from"}.field`,
      message: `gives ${made}, and a Credential Set of type ${type} needs ${needed.join(", ")}: ${missing.join(" and ")} can be added in \`with\`.${meant}`,
    },
  ];
}

/** Two rotations of one set would undo each other's work. */
function sharedSets(rotations: readonly Rotation[]): Problem[] {
  return rotations.flatMap(({ name, profile, credentialsId }, i) => {
    const twin = rotations.slice(0, i).find((one) => one.profile === profile && one.credentialsId === credentialsId);
    if (twin === undefined) return [];
    const message = `is the set of ${rotationsSection.path}.${twin.name} as well. A set has one rotation.`;
    return [{ where: `${rotationsSection.path}.${name}.credentialsId`, message }];
  });
}

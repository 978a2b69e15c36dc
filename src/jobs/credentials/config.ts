/** The section `rotations`: which Credential Sets are rotated, how, and the sinks of the new secret. */
import { z } from "zod";
import { dayMs, secondMs } from "#core/time.ts";
import { webhookKey } from "#core/secrets/webhook-secret.ts";
import { credentialsIdForm, successorSuffixLength } from "#fleet/rotation.ts";
import type { Deployment } from "#config/deployment.ts";
import type { Known } from "#config/feature-section.ts";
import type { Report } from "#config/report.ts";
import type { Check } from "#kernel/feature.ts";
import {
  command,
  expecting,
  integer,
  number,
  oneOf,
  path,
  profileName,
  text,
  webAddress,
  yesOrNo,
} from "#config/value-types.ts";
import { readSecretFile } from "#config/secrets/secret-file.ts";
import { hasOneOf, says, section, setting } from "#config/setting.ts";
import { suggestion } from "#core/suggest.ts";

/** A secret with fewer bits can be guessed. */
const minBits = 64;
const maxIdLength = 100;

const field = text("the name of a field: letters, digits and _", /^[A-Za-z][A-Za-z0-9_]{0,63}$/);
const constants = expecting(
  "a mapping of fields to texts (put numbers in quotes)",
  z.record(field, z.string().min(1).max(65_536)),
);

const generate = z
  .strictObject({
    field: setting(field, "Field of the Credential Set for the new value."),
    bytes: setting(integer(8, 4_096).optional(), "Random bytes of the value; their text is longer."),
    encoding: setting(oneOf(["base64url", "base64", "hex"]).default("base64url"), "How the bytes are written."),
    length: setting(integer(1, 4_096).optional(), "Instead of `bytes`: how many characters of `alphabet`."),
    alphabet: setting(
      text("2 to 94 printable characters without a repeat", /^[\x21-\x7e]{2,94}$/).optional(),
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
      length * Math.log2(new Set(alphabet).size) >= minBits,
    { ...says(`is too short: length and alphabet have to make ${minBits} bits at least.`), path: ["length"] },
  );

const from = z
  .strictObject({
    command: setting(command.optional(), "Program that prints the new value on its standard output."),
    file: setting(path.optional(), "File with the new value; only its owner may be able to read it."),
    field: setting(field.optional(), "Field that the value is for.", {
      fallback: "none: command or file gives a JSON object of all secret fields",
    }),
  })
  .refine(hasOneOf("command", "file"), says("must have either command or file."));

export type Generated = z.output<typeof generate>;
/** Without a `field` it gives a JSON object of all fields. */
export type Given = z.output<typeof from>;

export const sink = z
  .strictObject({
    file: setting(path.optional(), "File to replace with the new secret; its folder must exist."),
    command: setting(
      command.optional(),
      "Program that reads the new secret from its standard input; it may be run twice.",
    ),
    kubernetesSecret: z
      .strictObject({
        name: setting(
          text("the name of a Secret", /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/),
          "Name of a Kubernetes Secret in the worker's namespace, which the pod's service account may patch.",
        ),
        key: setting(text("a key of a Secret", /^[A-Za-z0-9._-]{1,253}$/), "Key of this Secret to replace."),
      })
      .optional(),
    webhook: z
      .strictObject({
        url: setting(webAddress, "Where the signed message with the new secret is sent."),
        secretFile: setting(path, "File of the secret that signs it (`whsec_…`)."),
        allowPrivate: setting(yesOrNo.default(false), "Whether the address may lead into a private network."),
      })
      .optional(),
  })
  .refine(
    hasOneOf("file", "command", "kubernetesSecret", "webhook"),
    says("must have exactly one of file, command, kubernetesSecret and webhook."),
  );

/** A consumer that receives the new secret before the platform does. */
export type Sink = z.output<typeof sink>;

const idText = text("an id: letters, digits, `.`, `_` and `-`", credentialsIdForm);

const structure = z
  .strictObject({
    profile: setting(profileName.default("default"), "Account of the Credential Set."),
    type: setting(
      text("the type of a Credential Set", /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/),
      "Its type, such as `psk`.",
    ),
    credentialsId: setting(idText.optional(), "Its ID; successors get a timestamp appended.", {
      fallback: "the rotation's name",
    }),
    description: setting(text("a line of text", /^[^\0\r\n]{1,200}$/).optional(), "Its description."),
    generate: generate.optional(),
    from: from.optional(),
    with: setting(constants.optional(), "Constant fields that are not secret, such as a user name."),
    strategy: setting(
      oneOf(["successor", "in-place"]).default("successor"),
      "`successor` creates a new set and deletes the old one once it is unused; `in-place` gives the set a new secret.",
    ),
    graceSeconds: setting(
      number(0, 31_536_000).default(86_400),
      "How long the old set must be unused before it is deleted.",
    ),
    maxAgeDays: setting(number(0.001, 3_650).optional(), "Age at which the event `credential.expiring` is emitted."),
    sinks: z.array(sink, "must be a list of sinks.").min(1, "must have a sink that is handed the new secret."),
  })
  .refine(hasOneOf("generate", "from"), says("must have either generate or from."))
  .transform(({ with: fixed = {}, graceSeconds, maxAgeDays, ...settings }) => ({
    ...settings,
    constants: fixed,
    graceMs: graceSeconds * secondMs,
    maxAgeMs: maxAgeDays === undefined ? undefined : maxAgeDays * dayMs,
  }));

const schema = section(structure, "Credential Sets whose secrets are rotated, each with a name. See docs/rotation.md.");

export const rotationsSection = { key: "rotations", schema, read: readRotations };

export type Rotations = ReturnType<typeof readRotations>;
export type Rotation = Readonly<Rotations[string]>;

/** Reads the section and checks it against what the platform definition knows of types and the file of profiles. */
function readRotations(entries: z.output<typeof schema>, known: Known, report: Report) {
  const rotations = Object.entries(entries).map(([name, { credentialsId = name, ...settings }]) => {
    return { ...settings, name, credentialsId };
  });
  const max = maxIdLength - successorSuffixLength - 1;
  for (const [i, rotation] of rotations.entries()) {
    const { name, profile, credentialsId, strategy, sinks } = rotation;
    const at = `rotations.${name}`;
    report.checkProfile(`${at}.profile`, profile, known.profiles);
    if (strategy === "successor" && credentialsId.length > max) {
      report.fault(`${at}.credentialsId`, `is too long for successors: ${max} characters at most.`);
    }
    checkFields(at, rotation, known.deployment.credentialTypes, report);
    checkSinks(at, sinks, report);
    // Two rotations of one set would undo each other's work.
    const twin = rotations.slice(0, i).find((one) => one.profile === profile && one.credentialsId === credentialsId);
    if (twin === undefined) continue;
    report.fault(`${at}.credentialsId`, `is the set of rotations.${twin.name} as well. A set has one rotation.`);
  }
  return Object.fromEntries(rotations.map((rotation) => [rotation.name, rotation]));
}

/** @param at path of what has the sinks */
export function checkSinks(at: string, sinks: readonly Sink[], report: Report): void {
  for (const [i, { webhook }] of sinks.entries()) {
    if (webhook === undefined) continue;
    const read = readSecretFile(webhook.secretFile);
    const wrongKey = "must contain whsec_ and 24 to 64 bytes in base64.";
    const fault = "fault" in read ? read.fault : webhookKey(read.secret) === undefined ? wrongKey : undefined;
    if (fault !== undefined) report.unreadable(`${at}.sinks.${i}.webhook.secretFile`, fault);
  }
}

/** A JSON object of all fields can be looked at only when it is there. */
function checkFields(
  at: string,
  { type, generate: made, from: read, constants: fixed }: Rotation,
  types: Deployment["credentialTypes"],
  report: Report,
): void {
  const given = (made ?? read)?.field;
  if (given === undefined) return;
  if (Object.hasOwn(fixed, given)) {
    return report.fault(`${at}.with.${given}`, "is the field that gets the new secret. Remove it.");
  }
  const needed = (Object.hasOwn(types, type) ? types[type] : undefined) ?? [];
  const missing = needed.filter((one) => one !== given && !Object.hasOwn(fixed, one));
  if (missing.length === 0) return;
  const meant = needed.includes(given) ? "" : suggestion(given, needed);
  report.fault(
    `${at}.${made === undefined ? "from" : "generate"}.field`,
    `gives ${given}, and a Credential Set of type ${type} needs ${needed.join(", ")}: ${missing.join(" and ")} can be added in \`with\`.${meant}`,
  );
}

/** The files that rotations read new secrets from, and write them to. */
export function filesOf(entries: Readonly<Record<string, Partial<Pick<Rotation, "from" | "sinks">>>>): Check[] {
  return Object.entries(entries).flatMap(([name, { from: { file: source } = {}, sinks = [] }]) => {
    const read = source === undefined ? [] : [{ path: source, use: "read" as const }];
    const written = sinks.flatMap(({ file }) => (file === undefined ? [] : [{ path: file, use: "write" as const }]));
    return [...read, ...written].map((one) => ({ what: `rotation ${name}`, ...one }));
  });
}

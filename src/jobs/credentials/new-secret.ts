/** Generates the new secret of a rotation: random, printed by a program, or read from a file. */
import { randomBytes, randomInt } from "node:crypto";
import { z } from "zod";
import { credentialFaults, type CredentialTypes } from "#api/operations/credentials.ts";
import { SimfleetError } from "#core/errors.ts";
import { jsonIn } from "#core/json.ts";
import { Secret } from "#core/secrets/secret.ts";
import type { SealedFields } from "#engine/seal.ts";
import type { Generated, Given, Rotation } from "./config.ts";
import { longestValue } from "./contract.ts";
import type { SinkDeps } from "./sinks.ts";

const secretFields = z.record(z.string(), z.string().min(1)).refine((fields) => Object.keys(fields).length > 0);

/**
 * The secret fields of a new Credential Set, without the constants. Multi-line values use line feeds only, since
 * receivers of a certificate may accept no other line breaks (interface, section 2).
 * @throws SimfleetError SECRET_GENERATION_FAILED
 */
export async function newSecret(
  { generate, from = {}, ...rotation }: Rotation,
  types: CredentialTypes,
  deps: Origins,
  signal: AbortSignal,
) {
  const origin = from.command === undefined ? "the file of `from`" : "the command of `from`";
  const unmade: Refuse = (words) => {
    const what = generate === undefined ? origin : "generate";
    return new SimfleetError("SECRET_GENERATION_FAILED", `the new secret could not be generated: ${what}: ${words}`);
  };
  if (generate !== undefined) return checked({ [generate.field]: drawn(generate) }, rotation, types, unmade);
  const text = await textFrom(from, { ...deps, signal, unmade });
  if (text.length > longestValue) throw unmade(`gave more than ${longestValue} characters`);
  const values = from.field === undefined ? secretFields.safeParse(jsonIn(text)).data : { [from.field]: text };
  if (values === undefined) throw unmade(noObject);
  return checked(values, rotation, types, unmade);
}

type Origins = Pick<SinkDeps, "commands" | "readSecretFile">;
type Refuse = (words: string) => SimfleetError;

async function textFrom(
  { command, file = "" }: Given,
  { commands, readSecretFile, signal, unmade }: Origins & { signal: AbortSignal; unmade: Refuse },
): Promise<string> {
  if (command === undefined) {
    const read = readSecretFile(file);
    if ("secret" in read) return read.secret;
    throw unmade(read.fault);
  }
  const { fault, output } = await commands.run(command, { input: "", complaint: "left-out", signal });
  if (fault !== undefined) throw unmade(fault);
  const value = output.replace(/\r?\n$/, "");
  if (value === "") throw unmade("printed nothing");
  return value;
}

/**
 * The secret fields of a set that a user changes: one field's value, or a JSON object of all fields. Without a `field`,
 * a value that is no JSON object is for the only field of its type.
 * @throws SimfleetError REQUEST_INVALID, without a piece of the value
 */
export function givenSecret(
  { type, field, value }: { readonly type: string; readonly field?: string | undefined; readonly value: string },
  types: CredentialTypes,
): SealedFields {
  const [only, ...others] = (Object.hasOwn(types, type) ? types[type] : undefined) ?? [];
  const object = field === undefined ? jsonIn(value) : undefined;
  const isBare = others.length === 0 && (typeof object !== "object" || object === null);
  const named = field ?? (isBare ? only : undefined);
  const values = named === undefined ? secretFields.safeParse(object).data : { [named]: value };
  if (values === undefined) throw unusable(`it ${noObject}.`);
  return checked(values, { type, constants: {} }, types, unusable);
}

function checked(
  values: Readonly<Record<string, string>>,
  { type, constants }: Pick<Rotation, "type" | "constants">,
  types: CredentialTypes,
  refuse: Refuse,
): SealedFields {
  const [fields, fixed] = [values, constants].map((texts) =>
    Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, new Secret(text.replace(/\r\n?/g, "\n"))])),
  ) as [SealedFields, SealedFields];
  const faults = credentialFaults(types, { type, credentials: { ...fields, ...fixed } });
  forgetAll(fixed);
  if (faults.length === 0) return fields;
  forgetAll(fields);
  throw refuse(faults.map(({ where, message }) => `${where} ${message}`).join(" "));
}

/** Unregisters the values from the scrubber. */
export function forgetAll(fields: SealedFields): void {
  for (const secret of Object.values(fields)) secret.forget();
}

const noObject = "has to give a JSON object of texts, since no `field` is given";

function unusable(words: string): SimfleetError {
  return new SimfleetError("REQUEST_INVALID", `the value cannot be used, and nothing was sent: ${words}`);
}

/** Draws a value; every outcome is equally likely. */
export function drawn({ bytes, encoding, length = 0, alphabet = "" }: Generated): string {
  if (bytes !== undefined) return randomBytes(bytes).toString(encoding);
  return Array.from({ length }, () => alphabet.charAt(randomInt(alphabet.length))).join("");
}

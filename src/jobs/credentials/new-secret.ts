/** Generates the new secret of a rotation: random, printed by a program, or read from a file. */
import { randomBytes, randomInt } from "node:crypto";
import { z } from "zod";
import { credentialFaults, type CredentialTypes } from "#api/operations/credentials.ts";
import { SimfleetError } from "#core/errors.ts";
import { Secret } from "#core/secret.ts";
import type { SealedFields } from "#engine/seal.ts";
import type { CommandRunner } from "./command.ts";
import type { Rotation, SecretSource } from "./config.ts";
import { longestValue } from "./contract.ts";

/** Sources of secrets other than randomness. */
export interface SecretDeps {
  readonly commands: CommandRunner;
  /** Reads a file that only its owner may read; returns the fault if it cannot. */
  readonly readSecretFile: (path: string) => { readonly secret: string } | { readonly fault: string };
}

const secretFields = z.record(z.string(), z.string().min(1)).refine((fields) => Object.keys(fields).length > 0);

/**
 * The secret fields of a new Credential Set, without the constants. Multi-line values use line feeds only, since receivers
 * of a certificate may accept no other line breaks (interface, section 2).
 * @throws SimfleetError SECRET_GENERATION_FAILED
 */
export async function newSecret(rotation: Rotation, types: CredentialTypes, deps: SecretDeps, signal: AbortSignal) {
  const { source } = rotation;
  const values =
    source.kind === "generate"
      ? { [source.field]: drawn(source.recipe) }
      : valuesIn(await textFrom(source, deps, signal), source);
  return checked(values, rotation, types, (words) => unmade(source, words));
}

/**
 * The secret fields of a set that a user changes: one field's value, or a JSON object of all fields. Without a `field`, a
 * value that is no JSON object is for the only field of its type.
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
  refuse: (words: string) => SimfleetError,
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

type Generated = Extract<SecretSource, { kind: "generate" }>;
type OtherSource = Exclude<SecretSource, Generated>;

function valuesIn(text: string, source: OtherSource): Readonly<Record<string, string>> {
  if (text.length > longestValue) throw unmade(source, `gave more than ${longestValue} characters`);
  const values = source.field === undefined ? secretFields.safeParse(jsonIn(text)).data : { [source.field]: text };
  if (values === undefined) throw unmade(source, noObject);
  return values;
}

async function textFrom(source: OtherSource, deps: SecretDeps, signal: AbortSignal): Promise<string> {
  if (source.kind === "file") {
    const read = deps.readSecretFile(source.path);
    if ("secret" in read) return read.secret;
    throw unmade(source, read.fault);
  }
  const { fault, output } = await deps.commands.run(source.command, { input: "", complaint: "left-out", signal });
  if (fault !== undefined) throw unmade(source, fault);
  const value = output.replace(/\r?\n$/, "");
  if (value === "") throw unmade(source, "printed nothing");
  return value;
}

const noObject = "has to give a JSON object of texts, since no `field` is given";

/** @returns undefined for a text that is no JSON: an error would contain a piece of it */
function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function unmade(source: SecretSource, words: string): SimfleetError {
  const what = { generate: "generate", command: "the command of `from`", file: "the file of `from`" }[source.kind];
  return new SimfleetError("SECRET_GENERATION_FAILED", `the new secret could not be generated: ${what}: ${words}`);
}

function unusable(words: string): SimfleetError {
  return new SimfleetError("REQUEST_INVALID", `the value cannot be used, and nothing was sent: ${words}`);
}

/** Draws a value; every outcome is equally likely. */
export function drawn(recipe: Generated["recipe"]): string {
  if (recipe.kind === "bytes") return randomBytes(recipe.bytes).toString(recipe.encoding);
  const { alphabet, length } = recipe;
  return Array.from({ length }, () => alphabet.charAt(randomInt(alphabet.length))).join("");
}

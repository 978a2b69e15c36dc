/** Generates the new secret of a rotation: random, printed by a program, or read from a file. */
import { randomBytes, randomInt } from "node:crypto";
import { z } from "zod";
import { credentialFaults, type CredentialTypes } from "#api/operations/credentials.ts";
import { SimfleetError } from "#core/errors.ts";
import { Secret } from "#core/secret.ts";
import type { Recipe, Rotation, SecretSource } from "#fleet/rotation.ts";
import type { SealedFields } from "#engine/seal.ts";
import type { CommandRunner } from "../command.ts";

/** Sources of secrets other than randomness. */
export interface SecretDeps {
  readonly commands: CommandRunner;
  /** Reads a file that only its owner may read; returns the fault if it cannot. */
  readonly readSecretFile: (path: string) => { readonly secret: string } | { readonly fault: string };
}

const secretFields = z.record(z.string(), z.string().min(1)).refine((fields) => Object.keys(fields).length > 0);

/** The longest value that the platform and the encrypted record can take. */
const longestValue = 65_536;

/**
 * The secret fields of a new Credential Set, without the constants. Multi-line values use line feeds only, since receivers
 * of a certificate may accept no other line breaks (interface, section 2).
 * @throws SimfleetError SECRET_GENERATION_FAILED
 */
export async function newSecret(
  rotation: Rotation,
  types: CredentialTypes,
  deps: SecretDeps,
  signal: AbortSignal,
): Promise<SealedFields> {
  const values = await valuesFrom(rotation.source, deps, signal);
  const fields = Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, new Secret(value.replace(/\r\n?/g, "\n"))]),
  );
  const constants = Object.keys(rotation.constants).map((name) => [name, new Secret("constant")] as const);
  const credentials = { ...fields, ...Object.fromEntries(constants) };
  const faults = credentialFaults(types, { type: rotation.type, credentials });
  for (const [, constant] of constants) constant.forget();
  if (faults.length === 0) return fields;
  for (const secret of Object.values(fields)) secret.forget();
  throw unmade(rotation.source, faults.map(({ where, message }) => `${where} ${message}`).join(" "));
}

async function valuesFrom(
  source: SecretSource,
  deps: SecretDeps,
  signal: AbortSignal,
): Promise<Readonly<Record<string, string>>> {
  if (source.kind === "generate") return { [source.field]: drawn(source.recipe) };
  const text = await textFrom(source, deps, signal);
  if (text.length > longestValue) throw unmade(source, `gave more than ${longestValue} characters`);
  if (source.field !== undefined) return { [source.field]: text };
  return objectIn(source, text);
}

async function textFrom(
  source: Exclude<SecretSource, { kind: "generate" }>,
  { commands, readSecretFile }: SecretDeps,
  signal: AbortSignal,
): Promise<string> {
  if (source.kind === "file") {
    const read = readSecretFile(source.path);
    if ("secret" in read) return read.secret;
    throw unmade(source, read.fault);
  }
  const { fault, output } = await commands.run(source.command, { input: "", complaint: "left-out", signal });
  if (fault !== undefined) throw unmade(source, fault);
  const value = output.replace(/\r?\n$/, "");
  if (value === "") throw unmade(source, "printed nothing");
  return value;
}

function objectIn(source: SecretSource, text: string): Readonly<Record<string, string>> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // No `cause`: it would contain a piece of the text.
  }
  const fields = secretFields.safeParse(value);
  if (fields.success) return fields.data;
  throw unmade(source, "has to give a JSON object of texts, since no `field` is configured");
}

function unmade(source: SecretSource, words: string): SimfleetError {
  const what = { generate: "generate", command: "the command of `from`", file: "the file of `from`" }[source.kind];
  return new SimfleetError("SECRET_GENERATION_FAILED", `the new secret could not be generated: ${what}: ${words}`);
}

/** Draws a value; every outcome is equally likely. */
export function drawn(recipe: Recipe): string {
  if (recipe.kind === "bytes") return randomBytes(recipe.bytes).toString(recipe.encoding);
  const { alphabet, length } = recipe;
  return Array.from({ length }, () => alphabet.charAt(randomInt(alphabet.length))).join("");
}

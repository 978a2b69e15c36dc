/**
 * The fields of the secrets in a Credential Set. The deployment lists the fields that each type requires (the interface
 * shows only those of `psk`). A type that is not listed, and additional fields, pass through, since more types exist
 * than are known.
 */
import { z } from "zod";
import type { Problem } from "#core/errors.ts";
import { Secret } from "#core/secret.ts";

/** The required fields of each type, as configured by the deployment. */
export type CredentialTypes = Readonly<Record<string, readonly string[]>>;

const secret = z.instanceof(Secret, { error: "is missing" }).refine((value) => value.reveal() !== "", "is empty");

/** A schema for the secrets of each known type. */
export function credentialSchemas(types: CredentialTypes): ReadonlyMap<string, z.ZodType<Record<string, Secret>>> {
  return new Map(Object.entries(types).map(([type, fields]) => [type, schemaOf(fields)]));
}

function schemaOf(fields: readonly string[]): z.ZodType<Record<string, Secret>> {
  return z.object(Object.fromEntries(fields.map((field) => [field, secret]))).catchall(secret);
}

/** Missing or empty fields; a problem never contains a value. */
export function credentialFaults(
  types: CredentialTypes,
  { type, credentials }: { readonly type: string; readonly credentials: Readonly<Record<string, Secret>> },
): Problem[] {
  const schema = credentialSchemas(types).get(type) ?? z.record(z.string(), secret);
  const read = schema.safeParse(credentials);
  if (read.success) return [];
  const needs = Object.hasOwn(types, type) ? ` A Credential Set of type ${type} needs ${types[type]?.join(", ")}.` : "";
  return read.error.issues.map((issue) => ({
    where: ["credentials", ...issue.path].join("."),
    message: `${issue.message}.${needs}`,
  }));
}

/** The section `authKeys`: per profile, the sinks of a rotated AuthKey and the grace period of the old one. */
import { z } from "zod";
import { ConfigError, type Problem } from "#core/errors.ts";
import type { Sink } from "#fleet/rotation.ts";
import { number } from "#config/value-types.ts";
import { sink, sinkFaults, sinkOf } from "#jobs/credentials/config.ts";
import { defaulted, readSection } from "#config/section.ts";
import { suggestion } from "#core/suggest.ts";
import type { Tree } from "#config/file/yaml-file.ts";

/** How the AuthKey of one profile is rotated. */
export interface AuthKeyOptions {
  readonly sinks: readonly Sink[];
  /** How long the old AuthKey has to be out of use before it is revoked. */
  readonly graceMs: number;
}

export const authKeysSection = {
  path: "authKeys",
  schema: z.strictObject({
    graceSeconds: defaulted(
      number(0, 31_536_000),
      "How long the old AuthKey must be unused for authentication before it is revoked; a token pair lives a day, so a shorter time misses programs other than simfleet.",
      86_400,
    ),
    sinks: z.array(sink, "must be a list of sinks.").min(1, "must have a sink that is handed the new AuthKey."),
  }),
  about:
    "How AuthKeys are rotated (`simfleet authkeys rotate`), by the name of the profile. A sink gets a JSON object of `authKeyId` and `authKey`; See docs/authkeys.md.",
} as const;

/** Reads the section and checks that each entry is of a profile. */
export function readAuthKeys(
  tree: Tree,
  profiles: readonly string[],
  problems: Problem[],
): Readonly<Record<string, AuthKeyOptions>> {
  const storeDeps: [string, AuthKeyOptions][] = [];
  for (const [name, { graceSeconds, sinks: written }] of readSection(tree, authKeysSection, problems)) {
    const where = `${authKeysSection.path}.${name}`;
    if (!profiles.includes(name)) {
      problems.push({ where, message: `There is no profile ${name}.${suggestion(name, profiles)}` });
    }
    const sinks = written.map(sinkOf);
    problems.push(...sinkFaults(where, sinks));
    storeDeps.push([name, { sinks, graceMs: graceSeconds * 1_000 }]);
  }
  return Object.fromEntries(storeDeps);
}

/**
 * How a profile's AuthKey is rotated.
 * @param secretFile the file that the profile's AuthKey is read from, for the example
 * @throws ConfigError with the lines to add
 */
export function requireAuthKeyOptions(
  authKeys: Readonly<Record<string, AuthKeyOptions>>,
  profile: string,
  secretFile: string | undefined,
): AuthKeyOptions {
  const storeDeps = Object.hasOwn(authKeys, profile) ? authKeys[profile] : undefined;
  if (storeDeps !== undefined) return storeDeps;
  const lines = ["authKeys:", `  ${profile}:`, `    sinks: [{ file: ${secretFile ?? "/run/secrets/auth-key"} }]`];
  const message =
    "is required: it names the sinks that receive the new AuthKey before the old one is revoked. " +
    `A profile's own authKeyFile is reloaded automatically; add to the configuration file:\n${lines.map((line) => `      ${line}`).join("\n")}`;
  throw new ConfigError([{ where: `authKeys.${profile}.sinks`, message }]);
}

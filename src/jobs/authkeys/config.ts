/** The section `authKeys`: per profile, the sinks of a rotated AuthKey and the grace period of the old one. */
import { z } from "zod";
import { ConfigError } from "#core/errors.ts";
import { secondMs } from "#core/time.ts";
import { number } from "#config/value-types.ts";
import { checkSinks, sink } from "#jobs/credentials/config.ts";
import type { Report } from "#config/report.ts";
import { section, setting } from "#config/setting.ts";

export const authKeysSection = section(
  z
    .strictObject({
      graceSeconds: setting(
        number(0, 31_536_000).default(86_400),
        "How long the old AuthKey must be unused for authentication before it is revoked; a token pair lives a day, so a shorter time misses programs other than simfleet.",
      ),
      sinks: z.array(sink, "must be a list of sinks.").min(1, "must have a sink that is handed the new AuthKey."),
    })
    .transform(({ graceSeconds, sinks }) => ({ sinks, graceMs: graceSeconds * secondMs })),
  "How AuthKeys are rotated (`simfleet authkeys rotate`), by the name of the profile. A sink gets a JSON object of `authKeyId` and `authKey`: see docs/authkeys.md.",
);

type AuthKeys = Readonly<z.output<typeof authKeysSection>>;

/** How the AuthKey of one profile is rotated. */
export type AuthKeyOptions = AuthKeys[string];

/** Checks that each entry is of a profile. */
export function checkAuthKeys(written: AuthKeys, profiles: readonly string[], report: Report): void {
  for (const [name, { sinks }] of Object.entries(written)) {
    report.checkProfile(`authKeys.${name}`, name, profiles);
    checkSinks(`authKeys.${name}`, sinks, report);
  }
}

/**
 * How a profile's AuthKey is rotated.
 * @param secretFile the file that the profile's AuthKey is read from, for the example
 * @throws ConfigError with the lines to add
 */
export function requireAuthKeyOptions(
  authKeys: AuthKeys,
  profile: string,
  secretFile: string | undefined,
): AuthKeyOptions {
  const options = Object.hasOwn(authKeys, profile) ? authKeys[profile] : undefined;
  if (options !== undefined) return options;
  const lines = ["authKeys:", `  ${profile}:`, `    sinks: [{ file: ${secretFile ?? "/run/secrets/auth-key"} }]`];
  const message =
    "is required: it names the sinks that receive the new AuthKey before the old one is revoked. " +
    `A profile's own authKeyFile is reloaded automatically; add to the configuration file:\n${lines.map((line) => `      ${line}`).join("\n")}`;
  throw new ConfigError([{ where: `authKeys.${profile}.sinks`, message }]);
}

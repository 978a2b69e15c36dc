/** The section `authKeys`: per profile, the sinks of a rotated AuthKey and the grace period of the old one. */
import { z } from "zod";
import { ConfigError } from "#core/errors.ts";
import { secondMs } from "#core/time.ts";
import { number, profileName, text } from "#config/value-types.ts";
import { checkSinks, sink } from "#jobs/credentials/config.ts";
import type { Known } from "#config/feature-section.ts";
import type { Report } from "#config/report.ts";
import { section, setting } from "#config/setting.ts";

const userName = text("the name of a sub-user", /^[A-Za-z0-9_][A-Za-z0-9._@-]{0,127}$/);

const schema = section(
  z
    .strictObject({
      graceSeconds: setting(
        number(0, 31_536_000).default(86_400),
        "How long the old AuthKey must be unused for authentication before it is revoked; a token pair lives a day, so a shorter time misses programs other than simfleet.",
      ),
      sinks: z.array(sink, "must be a list of sinks.").min(1, "must have a sink that is handed the new AuthKey."),
      user: setting(userName.optional(), "A sub-user whose AuthKey is rotated.", {
        fallback: "the profile's own user",
      }),
      profile: setting(profileName.default("default"), "With `user`: the profile that manages this user's AuthKeys."),
    })
    .transform(({ graceSeconds, ...entry }) => ({ ...entry, graceMs: graceSeconds * secondMs })),
  "How AuthKeys are rotated (`simfleet authkeys rotate`), by the name of the profile; with `user`, by a name of your choice. A sink gets a JSON object of `authKeyId` and `authKey`: see docs/rotation.md.",
);

export const authKeysSection = { key: "authKeys", schema, read: readAuthKeys };

export type AuthKeys = Readonly<z.output<typeof schema>>;

function readAuthKeys(written: AuthKeys, { profiles }: Known, report: Report): AuthKeys {
  for (const [name, { sinks, user, profile }] of Object.entries(written)) {
    report.checkProfile(`authKeys.${name}`, user === undefined ? name : profile, profiles);
    if (user !== undefined && profiles.includes(name)) {
      report.fault(`authKeys.${name}.user`, `needs another name for its entry: ${name} is a profile.`);
    }
    checkSinks(`authKeys.${name}`, sinks, report);
  }
  return written;
}

export interface KeyUser {
  readonly profile: string;
  /** User of the platform. Absent: the profile's own. */
  readonly user?: string | undefined;
}

export interface KeyOwner extends KeyUser {
  /** Name of the section's entry, and of the rotation: the profile's for its own user. */
  readonly name: string;
}

export function ownersOf(authKeys: AuthKeys): KeyOwner[] {
  return Object.entries(authKeys).map(([name, { profile, user }]) =>
    user === undefined ? { name, profile: name } : { name, profile, user },
  );
}

/** @returns undefined if no entry is about this user */
export function findOwner(authKeys: AuthKeys, { profile, user }: KeyUser): KeyOwner | undefined {
  if (user === undefined) return { name: profile, profile };
  return ownersOf(authKeys).find((owner) => owner.profile === profile && owner.user === user);
}

/** @throws ConfigError with the lines to add, if no entry is about this user */
export function requireOwner(authKeys: AuthKeys, { profile, user }: KeyUser): KeyOwner {
  const found = findOwner(authKeys, { profile, user });
  if (found !== undefined) return found;
  const entry = ["a-name:", `  profile: ${profile}`, `  user: ${JSON.stringify(user)}`];
  const message = `has no entry for the user ${user} of the profile ${profile}; add to the configuration file`;
  throw missing("authKeys", message, [...entry, "  sinks: [{ file: /run/secrets/their-auth-key }]"]);
}

/**
 * @param secretFile the file that the profile's AuthKey is read from, for the example
 * @throws ConfigError with the lines to add
 */
export function requireAuthKeyOptions(authKeys: AuthKeys, { name, profile }: KeyOwner, secretFile: string | undefined) {
  const options = Object.hasOwn(authKeys, name) ? authKeys[name] : undefined;
  if (options !== undefined) return options;
  const message =
    "is required: it names the sinks that receive the new AuthKey before the old one is revoked. " +
    "A profile's own authKeyFile is reloaded automatically; add to the configuration file";
  const sinks = `  sinks: [{ file: ${secretFile ?? "/run/secrets/auth-key"} }]`;
  throw missing(`authKeys.${profile}.sinks`, message, [`${profile}:`, sinks]);
}

function missing(where: string, message: string, entry: readonly string[]): ConfigError {
  const lines = ["authKeys:", ...entry.map((line) => `  ${line}`)].map((line) => `      ${line}`);
  return new ConfigError([{ where, message: `${message}:\n${lines.join("\n")}` }]);
}

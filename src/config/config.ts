/**
 * The configuration as the rest of simfleet uses it: validated, in milliseconds, with secrets that do not print
 * themselves. Settings that only some commands need are undefined if absent; these commands require them with the
 * functions below.
 */
import { ConfigError, type Problem } from "#core/errors.ts";
import type { loadConfig } from "./load.ts";
import { credentialForms } from "./secrets/credentials.ts";
import { makingOf, type SealKeys } from "./sections/seal-key.ts";

export type Config = ReturnType<typeof loadConfig>;

export type ProfileConfig = Config["profiles"][string];

/** @throws ConfigError if a secret below this path could not be read */
function assertRead({ unread }: Pick<Config, "unread">, path: string): void {
  const faults = unread.filter((one) => `${one.path}.`.startsWith(`${path}.`));
  if (faults.length > 0) throw new ConfigError(faults.map(({ where, message }) => ({ where, message })));
}

/**
 * A profile that can call the platform.
 * @param name the selected profile by default
 * @returns the profile, with at least one form of credentials; `authEndpoint` for authentication, which works on any;
 *   `coverage` of the account, undefined where it is taken from the verified token's claims
 * @throws ConfigError with everything that is missing, and which settings to give
 */
export function requirePlatform(config: Config, name: string = config.profile) {
  const found = Object.hasOwn(config.profiles, name) ? config.profiles[name] : undefined;
  if (found === undefined) {
    const known = Object.keys(config.profiles).join(", ");
    throw new ConfigError([{ where: `profiles.${name}`, message: `There is no such profile; known: ${known}.` }]);
  }
  assertRead(config, `profiles.${name}.credentials`);
  const { global, japan } = config.deployment.endpoints;
  const problems: Problem[] = [];
  if (found.credentials.length === 0) {
    problems.push({
      where: `profiles.${name}.credentials`,
      message: `are required to call the platform. Set ${credentialForms} (a secret also as …_FILE).`,
    });
  }
  const only = global === undefined ? "jp" : japan === undefined ? "g" : undefined;
  const coverage = found.profile.coverage ?? only;
  const authEndpoint = coverage === "jp" ? japan : global;
  if (authEndpoint === undefined) {
    const which = found.profile.coverage === "jp" ? "japan" : "global";
    problems.push({
      where: `endpoints.${which}`,
      message: `is required to call the platform. Set it, or SIMFLEET_ENDPOINT_${which.toUpperCase()}, or name a platform definition that has it.`,
    });
  }
  if (coverage === undefined && config.tokenKey === undefined) {
    problems.push({
      where: `profiles.${name}.coverage`,
      message:
        "is required, because there are base addresses for both coverages and no key to verify a token's claims. Set it, or SIMFLEET_COVERAGE, to g or jp.",
    });
  }
  if (problems.length > 0 || authEndpoint === undefined) throw new ConfigError(problems);
  return { ...found, authEndpoint, coverage };
}

/**
 * What secrets are sealed with while they have to survive a crash.
 * @param feature what it is for, as the start of a sentence: `Rotating Credential Sets`
 * @throws ConfigError that says how to make a key
 */
export function requireSeal(config: Config, feature: string): SealKeys {
  assertRead(config, "seal");
  const { seal } = config;
  if (seal !== undefined) return seal;
  const message =
    `is required: ${feature} stores the new secret encrypted until all sinks have it, so that a crash cannot lose it. ` +
    `Make a key with ${makingOf("seal-key")} and name the file here, or as SIMFLEET_SEAL_KEY_FILE.`;
  throw new ConfigError([{ where: "seal.keyFile", message }]);
}

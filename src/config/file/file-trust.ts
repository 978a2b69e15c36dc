/**
 * Decides whether a configuration file can be trusted. A file that contains secrets must meet the rules for secret
 * files. A file that was found in the working directory, not named by the user, may not send secrets of the environment
 * to an address that it sets: whoever created the directory could otherwise collect them.
 */
import { isAbsolute } from "node:path";
import { isOurs } from "#core/files/open-file.ts";
import { parseRedisUrl } from "../sections/redis.ts";
import { type Environment, pathsIn } from "../read-settings.ts";
import type { Report } from "../report.ts";
import { configSchema, type Settings } from "../schema.ts";
import { settingsOf, variablesOf } from "../setting.ts";
import { isDeploymentFile } from "../value-types.ts";
import { type OwnedTree, type Tree, valueAt } from "./yaml-file.ts";

/** Secrets, and the settings that decide where they are sent. */
const destinations: readonly { readonly secrets: readonly string[]; readonly to: readonly string[] }[] = [
  {
    secrets: ["authKey", "second.authKey", "password", "mfaSecret"].map((key) => `profiles.<name>.credentials.${key}`),
    to: ["deployment", "endpoints.global", "endpoints.japan"],
  },
  { secrets: ["redis.password"], to: ["redis.url"] },
  { secrets: ["server.token"], to: ["server.url"] },
];

/** Faults of the owner and mode of a file; `isNamed`: the user chose this file explicitly. */
export function checkOwner(file: string, { tree, uid, mode }: OwnedTree, isNamed: boolean, report: Report): void {
  if (uid === undefined || mode === undefined) return;
  if (!isNamed && !isOurs(uid)) {
    const message = `belongs to another user (ID ${uid})${isAbsolute(file) ? "" : " and was found in the working folder"}. ${namingOf(file)}.`;
    report.fault(file, message);
  }
  const secret = secretIn(tree);
  if (secret === undefined || (mode & 0o077) === 0) return;
  const octal = (mode & 0o777).toString(8).padStart(4, "0");
  const message = `contains a secret (${secret}) and can be read by others (mode ${octal}). Fix it with: chmod 600 ${file}, or keep the secret in a file of its own.`;
  report.fault(file, message);
}

/** Faults of a file that was found and not named: settings of it that would send secrets of the environment somewhere. */
export function checkDestinations(file: string, settings: Settings, env: Environment, report: Report): void {
  for (const { secrets, to } of destinations) {
    const variable = secrets.flatMap((path) => variablesOf(configSchema, path)).find((name) => env[name]);
    if (variable === undefined) continue;
    for (const path of to) {
      const [own = ""] = variablesOf(configSchema, path);
      if (!report.isGiven(path) || report.placeOf(path)?.where === own) continue;
      if (path === "deployment" && !isDeploymentFile(settings.deployment)) continue;
      const message = `is set by ${file}, which was found in the working folder, and decides where ${variable} is sent. ${namingOf(file)}, or set ${own}.`;
      report.fault(path, message);
    }
  }
}

function namingOf(file: string): string {
  return `Name it with --config ${file} or SIMFLEET_CONFIG=${file} if it is the right one`;
}

/** The path of a secret that the file holds as it is. */
function secretIn(tree: Tree): string | undefined {
  const secrets = settingsOf(configSchema).filter(({ facts }) => facts.secret === true);
  const found = secrets.flatMap(({ path }) => pathsIn(tree, path)).find((path) => valueAt(tree, path) !== undefined);
  if (found !== undefined) return found;
  const url = valueAt(tree, "redis.url");
  const parsed = typeof url === "string" ? parseRedisUrl(url) : undefined;
  return parsed !== undefined && "password" in parsed && parsed.password !== undefined ? "redis.url" : undefined;
}

/**
 * Decides whether a configuration file can be trusted. A file that contains secrets must meet the rules for secret
 * files. A file that was found in the working directory, not named by the user, may not send secrets of the environment
 * to an address that it sets: whoever created the directory could otherwise collect them.
 */
import type { Problem } from "#core/errors.ts";
import { isOurs, ownId } from "#core/open-file.ts";
import { parseRedisUrl } from "../sections/redis-url.ts";
import { placesOf, type SettingId, settingIds, settingOf } from "../schema.ts";
import type { Environment, Values } from "../read-settings.ts";
import { isTree, type OwnedTree, type Tree, valueAt } from "./yaml-file.ts";

/** Secrets, and the settings that decide where they are sent. */
const destinations: readonly { readonly secrets: readonly SettingId[]; readonly to: readonly SettingId[] }[] = [
  {
    secrets: ["authKey", "authKey2", "password", "mfaSecret"],
    to: ["deployment", "endpointGlobal", "endpointJapan"],
  },
  { secrets: ["redisPassword"], to: ["redisUrl"] },
  { secrets: ["serverToken"], to: ["serverUrl"] },
];

/** Faults of the owner and mode of a file. @param isNamed the user chose this file explicitly */
export function checkOwner(file: string, read: OwnedTree, isNamed: boolean, problems: Problem[]): void {
  const { tree, uid, mode } = read;
  if (uid === undefined || mode === undefined) return;
  if (!isNamed && !isOurs(uid)) {
    const message = `belongs to another user (id ${uid}) and was found in the working folder. ${namingOf(file)}, or change its owner to ${ownId()}.`;
    problems.push({ where: file, message });
  }
  const secret = secretIn(tree);
  if (secret === undefined || (mode & 0o077) === 0) return;
  const octal = (mode & 0o777).toString(8).padStart(4, "0");
  const message = `holds a secret (${secret}) and can be read by others (mode ${octal}). Fix it with: chmod 600 ${file}, or keep the secret in a file of its own.`;
  problems.push({ where: file, message });
}

/** Faults of a file that was found and not named: settings of it that would send secrets of the environment somewhere. */
export function checkDestinations(
  file: string,
  { values, env }: { values: Values; env: Environment },
  problems: Problem[],
): void {
  for (const { secrets, to } of destinations) {
    const variable = secrets
      .flatMap((id) => placesOf(settingOf(id)).map((place) => place.variable))
      .find((name) => env[name] !== undefined && env[name] !== "");
    if (variable === undefined) continue;
    for (const id of to) {
      const where = values.whereOf(id);
      if (where === undefined || where === settingOf(id).variable || isKnownDeployment(id, values)) continue;
      const message = `is set by ${file}, which was found in the working folder, and decides where ${variable} is sent. ${namingOf(file)}, or set ${settingOf(id).variable}.`;
      problems.push({ where, message });
    }
  }
}

/** One of those that come with simfleet. */
function isKnownDeployment(id: SettingId, values: Values): boolean {
  return id === "deployment" && !/[/.]/.test(values.getOrDefault("deployment"));
}

function namingOf(file: string): string {
  return `Name it with --config ${file} or SIMFLEET_CONFIG=${file} if it is the right one`;
}

/** The path of a secret that the file holds as it is. */
function secretIn(tree: Tree): string | undefined {
  const inSettings = settingIds
    .filter((id) => settingOf(id).secret === true)
    .flatMap((id) => pathsIn(tree, settingOf(id).path))
    .find((path) => valueAt(tree, path) !== undefined);
  if (inSettings !== undefined) return inSettings;
  const url = valueAt(tree, "redis.url");
  const parsed = typeof url === "string" ? parseRedisUrl(url) : undefined;
  if (parsed !== undefined && "password" in parsed && parsed.password !== undefined) return "redis.url";
  return pathsIn(tree, "webhooks.<name>.secret").find((path) => valueAt(tree, path) !== undefined);
}

/** A path of settings with the names that the file has in place of `<name>`. */
function pathsIn(tree: Tree, path: string): string[] {
  const [before = "", after] = path.split(".<name>");
  if (after === undefined) return [path];
  const named = valueAt(tree, before);
  return isTree(named) ? Object.keys(named).map((name) => `${before}.${name}${after}`) : [];
}

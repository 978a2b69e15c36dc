/**
 * Loads the configuration once, at start: the YAML file if there is one, overridden by environment variables. It
 * reports all problems together. This is the only file that reads the process environment.
 */
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { unescape } from "node:querystring";
import type { Credentials } from "#fleet/credentials.ts";
import { isPlainObject } from "#core/json.ts";
import { secretFields } from "#fleet/sim/sim-fields.ts";
import { fieldsToKeep } from "#fleet/sim-operation/sim-operation.ts";
import { keyColumnOf, type Wording } from "#fleet/sim/sim.ts";
import type { OutgoingProxy } from "#core/proxy.ts";
import { Secret } from "#core/secrets/secret.ts";
import { forgetCredentials, readCredentials } from "./secrets/credentials.ts";
import { type Deployment, loadDeployment } from "./deployment.ts";
import type { Known, Section } from "./feature-section.ts";
import { profileSection, type ProfileSettings, profilesSection } from "./sections/profiles.ts";
import { readGateway, readJwt } from "./sections/http.ts";
import { readRedis, parseRedisUrl } from "./sections/redis.ts";
import {
  type Environment,
  readSettings,
  type SettingSource,
  withNamedEntries,
  withPathsFrom,
  pathsIn,
} from "./read-settings.ts";
import { openReport, type Report } from "./report.ts";
import { configSchema, fileVariable, schemaWith, type Settings } from "./schema.ts";
import { group, secretOf, settingsOf, variablesOf } from "./setting.ts";
import { readSealKeys } from "./sections/seal-key.ts";
import { suggestion } from "#core/suggest.ts";
import { readKeySource } from "./secrets/secret-file.ts";
import { readYaml, valueAt, type OwnedTree, type Tree } from "./file/yaml-file.ts";
import { hash } from "node:crypto";
import { isOurs } from "#core/files/open-file.ts";
import { isDeploymentFile } from "./value-types.ts";

/** The place in the working folder comes before that of the machine. */
export const usualFiles = ["config/simfleet.yaml", "/etc/simfleet/simfleet.yaml"] as const;

/**
 * Reads and checks the whole configuration. Paths in the file are relative to its folder, those of
 * variables to the working folder. A variable that is set to nothing counts as not set.
 * @param from `file` is that of `--config`; else `SIMFLEET_CONFIG`, else the first of the usual files that is there
 * @throws ConfigError with all problems
 */
export function loadConfig({ file: given, env = process.env, sections = [], isForCommand }: ConfigSource = {}) {
  const report = openReport({ isForCommand });
  const schema = schemaWith(sections);
  const named = given ?? (env[fileVariable] || undefined);
  const file = named ?? usualFiles.find((usual) => existsSync(usual));
  const read: OwnedTree = file === undefined ? { tree: {} } : readYaml(file, report.problems);
  if (file !== undefined) checkOwner(file, { ...read, schema, isNamed: named !== undefined }, report);
  checkVariables(schema, env, report);
  const written = withPathsFrom(dirname(file ?? ""), read.tree, schema);
  const tree = withNamedEntries(schema, { tree: written, env }, report);
  const source = { tree, env, profile: selectedProfile(tree, env), sections };
  const settings = readSettings(schema, source, report);
  if (file !== undefined && named === undefined && !isAbsolute(file)) checkDestinations(file, settings, env, report);
  const assembled = assemble(settings, source, report);
  if (report.problems.length > 0) throw report.error();
  return { file, ...assembled };
}

export interface ConfigSource {
  readonly file?: string | undefined;
  readonly env?: Environment;
  /** Sections that features declare themselves (`sectionsOf`). */
  readonly sections?: readonly Section[];
  /**
   * Secrets that cannot be read are a problem of what needs them (`assertRead`), since few commands need any. False by
   * default: each is a problem at once.
   */
  readonly isForCommand?: boolean | undefined;
}

/** The name of the selected profile; that of the default where it is not valid, which is reported with the others. */
function selectedProfile(tree: SettingSource["tree"], env: Environment): string {
  const written = env["SIMFLEET_PROFILE"] || valueAt(tree, "profile");
  return configSchema.shape.profile.safeParse(written).data ?? "default";
}

function assemble(settings: Settings, source: SettingSource & { sections: readonly Section[] }, report: Report) {
  const { brand, endpoints, language, jwksUrl, tokenPublicKeyFile, archive, ...asWritten } = settings;
  const { tokenTtlSeconds, inventory } = settings;
  const { profile: selected, sections } = source;
  const described = loadDeployment(settings.deployment, report.problems);
  const { global = described.endpoints.global, japan = described.endpoints.japan } = endpoints;
  const deployment = { ...described, brand: brand ?? described.brand, endpoints: { global, japan } };
  if (tokenTtlSeconds !== undefined && deployment.ttlField === undefined) {
    const message = `cannot be asked for: the platform definition ${deployment.name} names no field for it (auth.ttlField).`;
    report.warn("tokenTtlSeconds", message);
  }
  const profiles = readProfiles({ profiles: settings.profiles, language }, source, report);
  const names = Object.keys(profiles);
  if (inventory.profile !== undefined) report.checkProfile("inventory.profile", inventory.profile, names);
  const isSecret = (field: string): boolean =>
    [...secretFields, ...inventory.secrets].includes(field.slice(field.lastIndexOf(".") + 1));
  const kept = inventory.fields.find(isSecret);
  if (kept !== undefined) report.fault("inventory.fields", `${kept} is a secret and is never stored. Remove it.`);
  const wordingOf = (name: string): Wording => profiles[name]?.profile.wording ?? "sims";
  const fieldsOf = (name: string): readonly string[] => fieldsKept(inventory, deployment, wordingOf(name));
  const read: Record<string, unknown> = {};
  const known: Known = { profiles: names, selected, fieldsOf, wordingOf, deployment, sections: read };
  for (const { key, read: make = (written: unknown) => written } of sections) {
    read[key] = make(settings[key as never], known, report);
    delete asWritten[key as never];
  }
  return {
    ...asWritten,
    /** Redis server. Absent: the embedded one. */
    redis: readRedis(settings.redis, report),
    ...readDataDir(settings, source.env, report),
    /** Proxy for outgoing calls. Absent: they are direct. */
    proxy: readProxy(source.env, report),
    deployment,
    /** Name of the selected profile; `profiles` always has it. */
    profile: selected,
    profiles,
    /** Key that verifies token claims. Absent: they are not used. */
    tokenKey: readKeySource(
      { jwksUrl, file: tokenPublicKeyFile },
      { jwksUrl: "jwksUrl", file: "tokenPublicKeyFile" },
      report,
    ),
    /** Sections of features by key, for `sectionOf`. */
    sections: read,
    /** Names what the sections of features say; undefined: nothing. */
    tasksHash: hashOfTasks(settings, read, sections),
    /** Encryption keys. Absent: rotations and secret inputs do not work. */
    seal: readSealKeys(settings.seal, report),
    http: { ...settings.http, jwt: readJwt(settings.http.jwt, report) },
    gateway: readGateway(settings.gateway, known, report),
    retention: { ...settings.retention, archive: archive.path },
    /** Secrets that could not be read, with the path of each. */
    unread: report.unread,
    /** Settings that work, but maybe not as intended. */
    warnings: report.warnings,
  };
}

/** The fields of SIMs that the inventory keeps, their key among them. */
function fieldsKept({ fields }: Settings["inventory"], deployment: Deployment, wording: Wording): readonly string[] {
  const ofUsage = deployment.operations.exportUsage === undefined ? [] : ["usage.day", "usage.month"];
  return [keyColumnOf(wording), ...fieldsToKeep(fields, wording, deployment.simOperations), ...ofUsage];
}

function readProfiles(settings: Pick<Settings, "profiles" | "language">, source: SettingSource, report: Report) {
  const { tree, env, profile } = source;
  const written = valueAt(tree, "profiles");
  const names = new Set([...(isPlainObject(written) ? Object.keys(written) : []), profile]);
  if (profile !== "default" && isPlainObject(written)) report.checkProfile("profile", profile, Object.keys(written));
  const read = (name: string) => {
    const { coverage, wording, language, credentials } = getProfile(settings, name);
    const { forms, files } = readCredentials(credentials, `profiles.${name}`, report);
    const own = {
      tree: { profiles: { [name]: valueAt(tree, `profiles.${name}`) } },
      env: name === profile ? env : {},
      profile: name,
    };
    return {
      profile: { name, coverage, wording },
      language: language ?? settings.language,
      /** The preferred ones first; empty if none are configured. */
      credentials: forms,
      /** Files that hold their secrets, and the credentials as the files have them now, each in Secrets of its own. */
      secrets: { files, read: () => readAgain(own) },
    };
  };
  return Object.fromEntries([...names].map((name) => [name, read(name)]));
}

/** The settings of a profile; the defaults where nothing gives any. */
function getProfile({ profiles }: Pick<Settings, "profiles">, name: string): ProfileSettings {
  return (Object.hasOwn(profiles, name) ? profiles[name] : undefined) ?? profileSection.parse({});
}

/** The credentials of a profile as their files have them now. @throws ConfigError */
function readAgain(source: SettingSource): readonly Credentials[] {
  const report = openReport();
  const settings = readSettings(group({ profiles: profilesSection }), source, report);
  const { credentials } = getProfile(settings, source.profile);
  const { forms } = readCredentials(credentials, `profiles.${source.profile}`, report);
  if (report.problems.length === 0) return forms;
  for (const form of forms) forgetCredentials(form);
  throw report.error();
}

function checkVariables(schema: typeof configSchema, env: Environment, report: Report): void {
  const known = new Set([fileVariable, ...settingsOf(schema).flatMap(({ variable }) => variable ?? [])]);
  for (const name of Object.keys(env)) {
    if (!name.startsWith("SIMFLEET_") || known.has(name)) continue;
    report.fault(name, `There is no such variable.${suggestion(name, known)}`);
  }
}

/** The variables of all programs: lower case comes first, and an address without a scheme is http, as for curl. */
function readProxy(env: Environment, report: Report): OutgoingProxy | undefined {
  const names = ["https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY"];
  const variable = names.find((name) => env[name]);
  if (variable === undefined) return undefined;
  const written = env[variable] ?? "";
  const url = URL.parse(written.includes("://") ? written : `http://${written}`);
  if (url === null || !["http:", "https:"].includes(url.protocol) || /%(?![\da-f]{2})/i.test(url.href)) {
    report.fault(variable, "must be the address of an http or https proxy, such as http://proxy.example.com:3128.");
    return undefined;
  }
  if (url.password !== "") secretOf(unescape(url.password));
  const except = env["no_proxy"] || env["NO_PROXY"] || "";
  return { url: new Secret(url.href), shown: url.origin, variable, except };
}

/**
 * The embedded Redis runs in a folder of its own, hence the absolute path. Where no setting names it, it is the usual
 * one of this user.
 */
function readDataDir({ dataDir }: Settings, env: Environment, report: Report) {
  if (dataDir !== undefined) return { dataDir: resolve(dataDir), isUsualDataDir: false };
  const shared = env["XDG_DATA_HOME"] || join(env["HOME"] ?? homeOfUser(), ".local", "share");
  if (!isAbsolute(shared)) {
    const message =
      "has no usual place, since neither XDG_DATA_HOME nor HOME is an absolute path. Set it, or SIMFLEET_DATA_DIR.";
    report.fault("dataDir", message);
  }
  return { dataDir: join(shared, "simfleet"), isUsualDataDir: true };
}

/** Empty for a user without an entry among the system's users, as in a container. */
export function homeOfUser(): string {
  try {
    return homedir();
  } catch {
    return "";
  }
}

/**
 * Names what the sections of features say, so that two processes can compare it: 12 hexadecimal digits.
 * @returns undefined if they say nothing
 */
function hashOfTasks(settings: object, read: Known["sections"], sections: readonly Section[]): string | undefined {
  const said = sections.flatMap(({ key, schema, isHashedAsRead }) => {
    const written = JSON.stringify(settings[key as never]);
    if (written === JSON.stringify(schema.parse(undefined, { jitless: true }))) return [];
    return [`["${key}",${isHashedAsRead ? JSON.stringify(read[key]) : written}]`];
  });
  if (said.length === 0) return undefined;
  return hash("sha256", `[${said.toSorted().join()}]`).slice(0, 12);
}

// Decides whether a configuration file can be trusted. A file that contains secrets must meet the rules for secret
// files. A file that was found in the working directory, not named by the user, may not send secrets of the environment
// to an address that it sets: whoever created the directory could otherwise collect them.

/** Secrets, and the settings that decide where they are sent. */
const destinations: readonly { readonly secrets: readonly string[]; readonly to: readonly string[] }[] = [
  {
    secrets: ["authKey", "second.authKey", "password", "mfaSecret"].map((key) => `profiles.<name>.credentials.${key}`),
    to: ["deployment", "endpoints.global", "endpoints.japan"],
  },
  { secrets: ["redis.password"], to: ["redis.url"] },
  { secrets: ["server.token"], to: ["server.url"] },
];

type Owned = OwnedTree & { readonly schema: typeof configSchema; readonly isNamed: boolean };

/** Faults of the owner and mode of a file; `isNamed`: the user chose this file explicitly. */
function checkOwner(file: string, { schema, tree, uid, mode, isNamed }: Owned, report: Report): void {
  if (uid === undefined || mode === undefined) return;
  if (!isNamed && !isOurs(uid)) {
    const message = `belongs to another user (ID ${uid})${isAbsolute(file) ? "" : " and was found in the working folder"}. ${describeNaming(file)}.`;
    report.fault(file, message);
  }
  const secret = secretIn(tree, schema);
  if (secret === undefined || (mode & 0o077) === 0) return;
  const octal = (mode & 0o777).toString(8).padStart(4, "0");
  const message = `contains a secret (${secret}) and can be read by others (mode ${octal}). Fix it with: chmod 600 ${file}, or keep the secret in a file of its own.`;
  report.fault(file, message);
}

/** Faults of a file that was found and not named: its settings that would send secrets of the environment somewhere. */
function checkDestinations(file: string, settings: Settings, env: Environment, report: Report): void {
  for (const { secrets, to } of destinations) {
    const variable = secrets.flatMap((path) => variablesOf(configSchema, path)).find((name) => env[name]);
    if (variable === undefined) continue;
    for (const path of to) {
      const [own = ""] = variablesOf(configSchema, path);
      if (!report.isGiven(path) || report.placeOf(path)?.where === own) continue;
      if (path === "deployment" && !isDeploymentFile(settings.deployment)) continue;
      const message = `is set by ${file}, which was found in the working folder, and decides where ${variable} is sent. ${describeNaming(file)}, or set ${own}.`;
      report.fault(path, message);
    }
  }
}

function describeNaming(file: string): string {
  return `Name it with --config ${file} or SIMFLEET_CONFIG=${file} if it is the right one`;
}

/** The path of a secret that the file holds as it is. */
function secretIn(tree: Tree, schema: typeof configSchema): string | undefined {
  const secrets = settingsOf(schema).filter(({ facts }) => facts.secret === true);
  const found = secrets.flatMap(({ path }) => pathsIn(tree, path)).find((path) => valueAt(tree, path) !== undefined);
  if (found !== undefined) return found;
  const url = valueAt(tree, "redis.url");
  const parsed = typeof url === "string" ? parseRedisUrl(url) : undefined;
  return parsed !== undefined && "password" in parsed && parsed.password !== undefined ? "redis.url" : undefined;
}

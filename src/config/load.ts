/**
 * Loads the configuration once, at start: the YAML file if there is one, overridden by environment variables. It
 * reports all problems together. This is the only file that reads the process environment.
 */
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { addEvents } from "#events/event.ts";
import { keptFields, secretFields } from "#fleet/sim/sim-fields.ts";
import { keyColumnOf } from "#fleet/sim/sim.ts";
import { ConfigError, type Problem } from "#core/errors.ts";
import { Secret } from "#core/secret.ts";
import type { Config, ProfileConfig } from "./config.ts";
import { readAuthKeys } from "#jobs/authkeys/config.ts";
import { readAutomations } from "#jobs/automations/config.ts";
import { type Credentials, forgetCredentials, readCredentials } from "./secrets/credentials.ts";
import { type Deployment, loadDeployment } from "./deployment.ts";
import { readDropFolder } from "#jobs/drop-folder/config.ts";
import { checkDestinations, checkOwner } from "./file/file-trust.ts";
import { readFreezes } from "#jobs/freezes/config.ts";
import { type HttpConfig, readJwt, readTokens } from "./sections/http.ts";
import { readRedis } from "./sections/redis.ts";
import { readRotations } from "#jobs/credentials/config.ts";
import { fileVariable, placesOf, settingIds, settingOf } from "./schema.ts";
import { readSchedules } from "#jobs/schedules/config.ts";
import { type FeatureSection, readSection, type Section } from "./section.ts";
import { sections } from "./sections.ts";
import { readSealKeys } from "./sections/seal-key.ts";
import { suggestion } from "#core/suggest.ts";
import { readTextFile } from "./file/text-file.ts";
import { type Environment, Values } from "./read-settings.ts";
import { readWebhooks } from "#jobs/webhooks/config.ts";
import { checkKeys, isTree, readOwnedYaml, type Tree, valueAt } from "./file/yaml-file.ts";

const dayMs = 86_400_000;
const usualFile = "config/simfleet.yaml";

/**
 * Reads and checks the whole configuration. Paths in it are relative to the working folder; a variable that is set to
 * nothing counts as not set.
 * @param from `file` is that of `--config`; else `SIMFLEET_CONFIG`, else `config/simfleet.yaml` if it is there
 * @throws ConfigError with all problems
 */
export function loadConfig(from: ConfigSource = {}): Config {
  const { env = process.env, features = [] } = from;
  const problems: Problem[] = [];
  // Schedules, automations and webhooks may name them.
  for (const { events } of features) addEvents(events ?? {});
  const named = from.file ?? (env[fileVariable] || undefined);
  const file = named ?? (existsSync(usualFile) ? usualFile : undefined);
  const read = file === undefined ? { tree: {} } : readOwnedYaml(file, problems);
  const { tree } = read;
  if (file !== undefined) checkOwner(file, read, named !== undefined, problems);
  checkKeys(
    tree,
    [...sections, ...ownSections(features)].map(({ path }) => path),
    problems,
  );
  checkVariables(env, problems);
  const config = assemble({ file, isNamed: named !== undefined, tree, env, features, problems });
  if (problems.length > 0) throw new ConfigError(withoutRepeats(problems));
  return frozen(config);
}

export interface ConfigSource {
  readonly file?: string | undefined;
  readonly env?: Environment;
  /** Features with a section of their own. */
  readonly features?: readonly FeatureSection[];
}

function ownSections(features: readonly FeatureSection[]): Section[] {
  return features.flatMap(({ section }) => section ?? []);
}

interface Source {
  readonly features: readonly FeatureSection[];
  readonly file: string | undefined;
  readonly isNamed: boolean;
  readonly tree: Tree;
  readonly env: Environment;
  readonly problems: Problem[];
}

function assemble(source: Source): Config {
  const { file, env, problems } = source;
  const profile = new Values({ ...source, profile: "default" }).getOrDefault("profile");
  const values = new Values({ ...source, profile });
  if (file !== undefined && !source.isNamed) checkDestinations(file, { values, env }, problems);
  const deployment = readDeployment(values, problems);
  const tokenTtlSeconds = values.get("tokenTtlSeconds");
  const warnings: Problem[] = [];
  if (tokenTtlSeconds !== undefined && deployment.ttlField === undefined) {
    const message = `cannot be asked for: the deployment ${deployment.name} names no field for it (auth.ttlField).`;
    warnings.push({ where: values.whereOf("tokenTtlSeconds") ?? "tokenTtlSeconds", message });
  }
  const profiles = readProfiles(source, { selected: values, profile, warnings });
  const names = Object.keys(profiles);
  const rotations = readRotations(source.tree, { deployment, profiles: names }, problems);
  const authKeys = readAuthKeys(source.tree, names, problems);
  const inventory = readInventory(values, problems);
  const fieldsOf = (name: string): readonly string[] => {
    const keyColumn = keyColumnOf(profiles[name]?.profile.wording ?? "sims");
    return [keyColumn, ...keptFields(inventory.fields, keyColumn)];
  };
  const known = { profiles: names, rotations, authKeys: Object.keys(authKeys), fieldsOf };
  return {
    file,
    redis: readRedis(values, { problems, warnings }),
    dataDir: values.get("dataDir") ?? usualDataDir(env),
    deployment,
    profile,
    profiles,
    tokenTtlMs: tokenTtlSeconds === undefined ? undefined : tokenTtlSeconds * 1000,
    tokenKey: readTokenKey(values, problems),
    limits: {
      periodMs: values.getOrDefault("periodSeconds") * 1000,
      reserve: values.getOrDefault("reserve"),
      connections: values.getOrDefault("connections"),
      egress: values.get("egress"),
    },
    credentialSets: values.getOrDefault("credentialSets"),
    rotations,
    authKeys,
    ...readSchedules(source.tree, known, problems),
    automations: readAutomations(source.tree, known, problems),
    freezes: readFreezes(source.tree, known.profiles, problems),
    webhooks: readWebhooks(source.tree, known.profiles, problems),
    dropFolder: readDropFolder(values, { profiles: names, selected: profile }, problems),
    seal: readSealKeys(values, problems),
    inventory,
    events: { keepMs: values.getOrDefault("eventsKeepDays") * dayMs, most: values.getOrDefault("eventsMost") },
    changes: { mostChanges: values.get("mostRows"), approvalAbove: values.get("approvalAbove") },
    http: readHttp(source, values),
    server: readServer(values),
    audit: { keepMs: values.getOrDefault("auditKeepDays") * dayMs },
    logLevel: values.getOrDefault("logLevel"),
    sections: Object.fromEntries(
      ownSections(source.features).map((section) => [section.path, readSection(source.tree, section, problems)]),
    ),
    warnings,
  };
}

function readServer(values: Values): Config["server"] {
  const url = values.get("serverUrl");
  const token = values.getSecret("serverToken");
  return url === undefined ? undefined : { url, token };
}

function readHttp({ tree, problems }: Source, values: Values): HttpConfig {
  return {
    host: values.getOrDefault("httpHost"),
    port: values.getOrDefault("httpPort"),
    adminToken: values.getSecret("adminToken"),
    tokens: readTokens(tree, problems),
    jwt: readJwt(values, problems),
    hosts: values.getOrDefault("httpHosts"),
    uploadBytes: values.getOrDefault("uploadBytes"),
    metrics: values.getOrDefault("httpMetrics"),
    plansPerCaller: values.getOrDefault("plansPerCaller"),
    planBytesPerCaller: values.getOrDefault("planBytesPerCaller"),
    requestsPerMinute: values.getOrDefault("requestsPerMinute"),
    authFailuresPerMinute: values.getOrDefault("authFailuresPerMinute"),
    connections: values.getOrDefault("httpConnections"),
    queues: values.getOrDefault("httpQueues"),
  };
}

function readInventory(values: Values, problems: Problem[]): Config["inventory"] {
  const fields = values.getOrDefault("inventoryFields");
  const secrets = values.getOrDefault("inventorySecrets");
  const kept = fields.find((field) => [...secretFields, ...secrets].includes(field.slice(field.lastIndexOf(".") + 1)));
  if (kept !== undefined) {
    const where = values.whereOf("inventoryFields") ?? "inventory.fields";
    problems.push({ where, message: `${kept} is a secret and is never stored. Remove it.` });
  }
  return { fields, secrets, limit: values.get("inventoryLimit") };
}

function readDeployment(values: Values, problems: Problem[]): Deployment {
  const deployment = loadDeployment(values.getOrDefault("deployment"), problems);
  return {
    ...deployment,
    brand: values.get("brand") ?? deployment.brand,
    endpoints: {
      global: values.get("endpointGlobal") ?? deployment.endpoints.global,
      japan: values.get("endpointJapan") ?? deployment.endpoints.japan,
    },
  };
}

function readProfiles(
  source: Source,
  { selected, profile, warnings }: { selected: Values; profile: string; warnings: Problem[] },
): Record<string, ProfileConfig> {
  const { tree, problems } = source;
  const language = selected.getOrDefault("language");
  const written = valueAt(tree, "profiles");
  const names = new Set([...(isTree(written) ? Object.keys(written) : []), profile]);
  if (profile !== "default" && isTree(written) && !Object.hasOwn(written, profile)) {
    const where = selected.whereOf("profile") ?? "profile";
    problems.push({ where, message: `There is no profile ${profile}.${suggestion(profile, Object.keys(written))}` });
  }
  const read = (name: string): ProfileConfig => {
    const env = name === profile ? source.env : {};
    const values = name === profile ? selected : new Values({ ...source, env, profile: name });
    const { forms, files } = readCredentials(values, name, { problems, warnings });
    return {
      profile: { name, coverage: values.get("coverage"), wording: values.getOrDefault("wording") },
      language: values.get("profileLanguage") ?? language,
      credentials: forms,
      secrets: { files, read: () => readAgain({ tree, env, profile: name }) },
    };
  };
  return Object.fromEntries([...names].map((name) => [name, read(name)]));
}

/** The credentials of a profile as their files have them now. @throws ConfigError */
function readAgain(from: { tree: Tree; env: Environment; profile: string }): readonly Credentials[] {
  const problems: Problem[] = [];
  const { forms } = readCredentials(new Values({ ...from, problems }), from.profile, { problems, warnings: [] });
  if (problems.length === 0) return forms;
  for (const form of forms) forgetCredentials(form);
  throw new ConfigError(withoutRepeats(problems));
}

function readTokenKey(values: Values, problems: Problem[]): Config["tokenKey"] {
  const jwksUrl = values.get("jwksUrl");
  const file = values.get("tokenPublicKeyFile");
  const where = values.whereOf("tokenPublicKeyFile") ?? "tokenPublicKeyFile";
  if (jwksUrl !== undefined && file !== undefined) {
    problems.push({ where, message: `is given beside ${values.whereOf("jwksUrl")}. Keep one of them.` });
  }
  if (jwksUrl !== undefined) return { jwksUrl };
  if (file === undefined) return undefined;
  const read = readTextFile(file);
  if ("fault" in read) {
    problems.push({ where, message: read.fault });
    return undefined;
  }
  if (/-----BEGIN (RSA |EC )?PRIVATE KEY/.test(read.text)) {
    problems.push({ where, message: `${file} contains a private key; the public key is required.` });
  } else if (!read.text.includes("-----BEGIN ")) {
    problems.push({ where, message: `${file} is not a PEM file (-----BEGIN PUBLIC KEY-----).` });
  }
  return { publicKeyPem: read.text };
}

function checkVariables(env: Environment, problems: Problem[]): void {
  const known = new Set([fileVariable, ...settingIds.flatMap((id) => placesOf(settingOf(id)).map((p) => p.variable))]);
  for (const name of Object.keys(env)) {
    if (!name.startsWith("SIMFLEET_") || known.has(name)) continue;
    problems.push({ where: name, message: `There is no such variable.${suggestion(name, known)}` });
  }
}

/** One variable can feed two settings, and a setting can be read twice. */
function withoutRepeats(problems: readonly Problem[]): Problem[] {
  return [...new Map(problems.map((problem) => [`${problem.where}: ${problem.message}`, problem])).values()];
}

function usualDataDir(env: Environment): string {
  return join(env["XDG_DATA_HOME"] || join(env["HOME"] || homedir(), ".local", "share"), "simfleet");
}

function frozen<T>(value: T): T {
  if (typeof value !== "object" || value === null || value instanceof Secret) return value;
  for (const inner of Object.values(value)) frozen(inner);
  return Object.freeze(value);
}

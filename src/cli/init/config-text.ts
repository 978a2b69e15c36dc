/** The text of the configuration file that `simfleet init` writes, from its answers. */
import { stringify } from "yaml";
import { parseRedisUrl } from "#config/sections/redis.ts";
import { configSchema } from "#config/schema.ts";
import { readSettings } from "#config/read-settings.ts";
import { Report } from "#config/report.ts";
import { expectedOf, path } from "#config/value-types.ts";
import { SimfleetError } from "#core/errors.ts";

export interface InitAnswers {
  readonly deployment: string;
  /** Absent: the deployment's. */
  readonly endpoint?: string | undefined;
  readonly coverage?: string | undefined;
  readonly authKeyId: string;
  readonly authKeyFile: string;
  /** Absent: an embedded Redis. */
  readonly redisUrl?: string | undefined;
  readonly dataDir?: string | undefined;
}

/** @throws ConfigError with all values that the configuration refuses; SimfleetError USAGE for a secret */
export function checkAnswers(answers: InitAnswers): void {
  refuseSecrets(answers);
  const { deployment, endpoint, coverage, authKeyId, authKeyFile, redisUrl, dataDir } = answers;
  const report = new Report();
  const tree = {
    deployment,
    endpoints: { [endpointKey(answers)]: endpoint },
    profiles: { default: { coverage, credentials: { authKeyId } } },
    redis: { url: redisUrl },
    dataDir,
  };
  readSettings(configSchema, { tree, env: {}, profile: "default" }, report);
  // The file may not be there yet.
  if (!path.safeParse(authKeyFile).success) {
    report.fault("profiles.default.credentials.authKeyFile", `must be ${expectedOf(path)}.`);
  }
  if (report.problems.length > 0) throw report.error();
}

function endpointKey({ coverage }: InitAnswers): "global" | "japan" {
  return coverage === "jp" ? "japan" : "global";
}

function refuseSecrets({ authKeyId, authKeyFile, redisUrl }: InitAnswers): void {
  if ([authKeyId, authKeyFile].some((text) => text.startsWith("secret-"))) {
    const message = "A secret belongs in a file of its own: give the AuthKey's ID, and the path of the secret's file";
    throw new SimfleetError("USAGE", message);
  }
  const url = redisUrl === undefined ? undefined : parseRedisUrl(redisUrl);
  if (url === undefined) return;
  if ("faults" in url) throw new SimfleetError("USAGE", `--redis-url ${url.faults.join(" ")}`);
  if (url.password === undefined && url.username === undefined) return;
  const message = "--redis-url must have no user or password: set redis.username and redis.passwordFile afterwards";
  throw new SimfleetError("USAGE", message);
}

/** The whole file. Lines that begin with `# ` and a key show what can follow; docs/configuration.md describes all keys. */
export function configText(answers: InitAnswers): string {
  const { deployment, endpoint, coverage, authKeyId, authKeyFile, redisUrl, dataDir } = answers;
  const lines = [
    "# The configuration of simfleet. docs/configuration.md describes every setting; simfleet check verifies this file.",
    "# Paths are relative to the working folder. It holds no secret: it names the files that do.",
    "",
    "# The installation of the platform: svc, soracom, or the path of a deployment file.",
    entry("deployment", deployment),
    "",
    ...(endpoint === undefined
      ? []
      : [
          "# Base address of the platform, without /v1.",
          "endpoints:",
          `  ${entry(endpointKey(answers), endpoint)}`,
          "",
        ]),
    "profiles:",
    "  default:",
    ...(coverage === undefined
      ? []
      : ["    # Coverage of the account: g (Global) or jp (Japan).", `    ${entry("coverage", coverage)}`]),
    "    credentials:",
    `      ${entry("authKeyId", authKeyId)}`,
    "      # Only its owner may read the file: chmod 600.",
    `      ${entry("authKeyFile", authKeyFile)}`,
    "",
    "# Redis 6.2 or newer, shared by all machines. Without an address simfleet runs its own, in dataDir.",
    ...(redisUrl === undefined
      ? ["# redis:", "#   url: rediss://redis.example.com:6380", "#   passwordFile: /run/secrets/redis-password"]
      : ["redis:", `  ${entry("url", redisUrl)}`, "  # passwordFile: /run/secrets/redis-password"]),
    dataDir === undefined ? "# dataDir: /var/lib/simfleet" : entry("dataDir", dataDir),
    "",
    "# Share of each quota that is reserved for other callers, 0 to 0.9.",
    "# limits:",
    "#   reserve: 0.1",
    "",
    ...commonAdditions,
  ];
  return `${lines.join("\n")}\n`;
}

function entry(key: string, value: string): string {
  return stringify({ [key]: value }, { lineWidth: 0 }).trimEnd();
}

const commonAdditions = [
  "# Scheduled tasks, run by a worker (docs/schedules.md).",
  "# schedules:",
  '#   nightly-sync: { cron: "0 3 * * *", timezone: UTC, job: sync }',
  "",
  "# Event-triggered tasks (docs/automations.md).",
  "# automations:",
  "#   new-sims-slow: { on: sim.added, job: apply, speedClass: s1.minimum }",
  "",
  "# Event messages to other programs and chats (docs/webhooks.md).",
  "# webhooks:",
  "#   chat: { urlFile: /run/secrets/chat-url, format: slack, events: [run.completed, run.aborted] }",
  "",
  "# Runs with more changes than this wait for the approval of a second person.",
  "# changes:",
  "#   approvalAbove: 10000",
];

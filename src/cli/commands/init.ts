/**
 * `simfleet init`: writes a configuration file from options, or from answers on a terminal. It writes no secret: the
 * file names the file of the AuthKey's secret. Every value is checked by the schema of the configuration before
 * anything is written.
 */
import { mkdir } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { Command } from "@commander-js/extra-typings";
import { dump } from "js-yaml";
import { loadDeployment } from "#config/deployment.ts";
import { readSettings } from "#config/read-settings.ts";
import { openReport } from "#config/report.ts";
import { configSchema } from "#config/schema.ts";
import { parseRedisUrl } from "#config/sections/redis.ts";
import { expectedOf, isDeploymentFile, path } from "#config/value-types.ts";
import { readSecretFile } from "#config/secrets/secret-file.ts";
import { type Problem, ConfigError, SimfleetError } from "#core/errors.ts";
import { createFile, replaceFile } from "#core/files/write-file.ts";
import { type Context, addExample, asking, isTerminal } from "../context.ts";

const usualFile = "config/simfleet.yaml";

export function initCommand(context: Context): Command {
  const command = new Command("init")
    .description("Write a configuration file; on a terminal, asks for options that are missing")
    .option("--deployment <name>", "platform definition: svc, soracom or the path of a file")
    .option("--endpoint <url>", "base address of the platform, without /v1; needed if the platform definition has none")
    .option(
      "--coverage <type>",
      "coverage of the account, g or jp; needed if the platform definition has an address for both",
    )
    .option("--auth-key-id <id>", "ID of the AuthKey")
    .option("--auth-key-file <path>", "file with the AuthKey's secret")
    .option(
      "--redis-url <url>",
      "address of a Redis server, which several machines can share (default: an embedded Redis)",
    )
    .option("--data-dir <path>", "folder of the embedded Redis (default: ~/.local/share/simfleet)")
    .option("--config <file>", "file to write", usualFile)
    .option("--force", "overwrite the file")
    .option("--json", "print one JSON document on stdout");
  addExample(
    command,
    "simfleet init --endpoint https://api.example.com --auth-key-id keyId-1 --auth-key-file secrets/auth-key",
  );
  return command.action(async ({ config: file, force, json, ...given }) => {
    const output = context.output({ json });
    const answers = await completed(given, context);
    checkAnswers(answers);
    await write(file, configText(answers), { force: force === true });
    const next = nextSteps(file, answers);
    output.answer({ file, next }, (shown) => [`Wrote ${shown.file}.`, "", "Next:", ...shown.next].join("\n"));
  });
}

/** Asks for what was not given. @throws SimfleetError USAGE without a terminal */
async function completed(given: Given, { io }: Context): Promise<InitAnswers> {
  if (!isTerminal(io)) return collectAnswers(given, (_question, usual) => Promise.resolve(usual));
  return asking(io, (ask) =>
    collectAnswers(given, async (question, usual) => {
      const text = await ask(usual === undefined ? `${question}: ` : `${question} [${usual}]: `);
      if (text === undefined) throw new SimfleetError("USAGE", "Interrupted. Nothing was written");
      return text === "" ? usual : text;
    }),
  );
}

type Answer = (question: string, usual?: string) => Promise<string | undefined>;
type Given = Readonly<
  Partial<Record<"deployment" | "endpoint" | "coverage" | "authKeyId" | "authKeyFile" | "redisUrl" | "dataDir", string>>
>;
/** Without a base address it is that of the platform definition, and without an address of Redis an embedded one. */
type InitAnswers = Awaited<ReturnType<typeof collectAnswers>>;

async function collectAnswers(given: Given, answer: Answer) {
  const deployment =
    given.deployment ?? (await answer("Platform definition (svc, soracom, or a file)", "svc")) ?? "svc";
  const problems: Problem[] = [];
  const { global, japan } = loadDeployment(deployment, problems).endpoints;
  if (problems.length > 0) throw new ConfigError(problems);
  const needsEndpoint = global === undefined && japan === undefined;
  const endpoint = given.endpoint ?? (needsEndpoint ? await answer("Base address, without /v1") : undefined);
  if (needsEndpoint && endpoint === undefined)
    throw missing("--endpoint", `the platform definition ${deployment} has no address`);
  const isOpen = global !== undefined && japan !== undefined;
  const coverage = given.coverage ?? (isOpen ? await answer("Coverage (g or jp)", "g") : undefined);
  const authKeyId = given.authKeyId ?? (await answer("ID of the AuthKey"));
  if (authKeyId === undefined) throw missing("--auth-key-id", "simfleet signs in with an AuthKey");
  const authKeyFile = given.authKeyFile ?? (await answer("File with the AuthKey's secret", "secrets/auth-key")) ?? "";
  const redisUrl = given.redisUrl ?? (given.dataDir ? undefined : await answer("Redis URL (empty: embedded)"));
  return { deployment, endpoint, coverage, authKeyId, authKeyFile, redisUrl, dataDir: given.dataDir };
}

function missing(option: string, reason: string): SimfleetError {
  return new SimfleetError("USAGE", `${option} is required: ${reason}. Nothing was written`);
}

/** @throws SimfleetError USAGE if the file exists */
async function write(file: string, text: string, { force }: { force: boolean }): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  if (force) return replaceFile(file, text, { mode: 0o644 });
  try {
    await createFile(file, text, { mode: 0o644 });
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== "EEXIST") throw thrown;
    throw new SimfleetError("USAGE", `${file} exists and was not changed. Add --force to overwrite it`);
  }
}

/** The commands to type next. The secret comes first if its file is not ready. */
function nextSteps(file: string, { authKeyFile }: InitAnswers): string[] {
  const naming = file === usualFile ? "" : ` --config ${file}`;
  const check = `  simfleet check${naming}    # verify the configuration, Redis, the address and the AuthKey`;
  const read = readSecretFile(authKeyFile);
  if ("secret" in read) return [check];
  const folder = dirname(authKeyFile);
  const making = folder === "." ? "" : `mkdir -p ${folder} && `;
  return [`  ${making}(umask 077; cat > ${authKeyFile})    # paste the secret, then Enter and Ctrl-D`, check];
}

/** @throws ConfigError with all values that the configuration refuses; SimfleetError USAGE for a secret */
function checkAnswers(answers: InitAnswers): void {
  refuseSecrets(answers);
  const report = openReport();
  // The file of the secret may not be there yet.
  readSettings(configSchema, { tree: toSettings(answers, {}), env: {}, profile: "default" }, report);
  if (!path.safeParse(answers.authKeyFile).success) {
    report.fault("profiles.default.credentials.authKeyFile", `must be ${expectedOf(path)}.`);
  }
  if (report.problems.length > 0) throw report.error();
}

function refuseSecrets({ authKeyId, authKeyFile, redisUrl }: InitAnswers): void {
  if ([authKeyId, authKeyFile].some((text) => text.startsWith("secret-"))) {
    const message = "A secret belongs in a file of its own: give the AuthKey's ID, and the path of the secret's file";
    throw new SimfleetError("USAGE", message);
  }
  const url = redisUrl === undefined ? undefined : parseRedisUrl(redisUrl);
  if (url === undefined) return;
  if ("fault" in url) throw new SimfleetError("USAGE", `--redis-url ${url.fault}`);
  if (url.password === undefined && url.username === undefined) return;
  const message = "--redis-url must have no user or password: set redis.username and redis.passwordFile afterwards";
  throw new SimfleetError("USAGE", message);
}

/** The settings as the file has them; paths are absolute, since options begin at the working folder. */
function toSettings(answers: InitAnswers, secrets: { readonly authKeyFile?: string }) {
  const { deployment, endpoint, coverage, authKeyId, redisUrl, dataDir } = answers;
  return {
    deployment: isDeploymentFile(deployment) ? resolve(deployment) : deployment,
    endpoints: endpoint && { [coverage === "jp" ? "japan" : "global"]: endpoint },
    profiles: { default: { coverage, credentials: { authKeyId, ...secrets } } },
    redis: redisUrl && { url: redisUrl },
    dataDir: dataDir && resolve(dataDir),
  };
}

/** The whole file. Lines of `# ` and a key show what can follow; docs/reference/configuration.md describes all keys. */
export function configText(answers: InitAnswers): string {
  const settings = toSettings(answers, { authKeyFile: resolve(answers.authKeyFile) });
  const more = [
    answers.redisUrl === undefined ? usualRedis : "",
    answers.dataDir === undefined ? "# dataDir: /var/lib/simfleet\n\n" : "",
    commonAdditions,
  ];
  return `${head}${dump(settings, { lineWidth: -1 })}\n${more.join("")}`;
}

const head = `# The configuration of simfleet. docs/reference/configuration.md describes every setting; simfleet check verifies this file.
# A relative path starts at the folder of this file. The file contains no secret; it names files that do, which only their
# owner may read (chmod 600).

`;

const usualRedis = `# Redis 6.2 or newer, shared by all machines. Without an address simfleet runs its own, in dataDir.
# redis:
#   url: rediss://redis.example.com:6380
#   passwordFile: /run/secrets/redis-password
`;

const commonAdditions = `# What bulk work leaves of each quota to other callers: auto, or also a share in any case, 0 to 0.9.
# limits:
#   reserve: auto

# Scheduled tasks, run by a worker (docs/schedules.md).
# schedules:
#   nightly-sync: { cron: "0 3 * * *", timezone: UTC, job: sync }

# Event-triggered tasks (docs/schedules.md).
# automations:
#   new-sims-slow: { on: sim.added, job: apply, speedClass: s1.minimum }

# Event messages to other programs and chats (docs/webhooks.md).
# webhooks:
#   chat: { urlFile: /run/secrets/chat-url, format: slack, events: [run.completed, run.aborted] }

# Runs with more changes than this wait for the approval of a second person.
# changes:
#   approvalAbove: 10000
`;

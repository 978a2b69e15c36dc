/**
 * `simfleet init`: writes a configuration file from options, or from answers on a terminal. It writes no secret: the file
 * names the file of the AuthKey's secret. Every value is checked by the schema of the configuration before anything is
 * written.
 */
import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { Command } from "@commander-js/extra-typings";
import { loadDeployment } from "#config/deployment.ts";
import { readSecretFile } from "#config/secrets/secret-file.ts";
import { type Problem, ConfigError, SimfleetError } from "#core/errors.ts";
import { createFile, replaceFile } from "#core/files/write-file.ts";
import { type Context, asking, isTerminal } from "../context.ts";
import { type InitAnswers, checkAnswers, configText } from "../init/config-text.ts";
import { initStrings } from "./strings.ts";
import { commonStrings, programStrings } from "../strings.ts";

const usualFile = "config/simfleet.yaml";

export function initCommand(context: Context): Command {
  const command = new Command("init")
    .description(initStrings.description)
    .option("--deployment <name>", initStrings.deployment)
    .option("--endpoint <url>", initStrings.endpoint)
    .option("--coverage <type>", initStrings.coverage)
    .option("--auth-key-id <id>", initStrings.authKeyId)
    .option("--auth-key-file <path>", initStrings.authKeyFile)
    .option("--redis-url <url>", initStrings.redisUrl)
    .option("--data-dir <path>", initStrings.dataDir)
    .option("--config <file>", initStrings.config, usualFile)
    .option("--force", initStrings.force)
    .option("--json", commonStrings.json)
    .addHelpText(
      "after",
      `\n${programStrings.example}\n  simfleet init --endpoint https://api.example.com --auth-key-id keyId-1 --auth-key-file secrets/auth-key`,
    );
  return command.action(async ({ config: file, force, json, ...given }) => {
    const output = context.output({ json });
    const answers = await completed(given, context);
    checkAnswers(answers);
    await write(file, configText(answers), { force: force === true });
    const next = nextSteps(file, answers);
    output.answer({ file, next }, (shown) =>
      [initStrings.wrote(shown.file), "", initStrings.next, ...shown.next].join("\n"),
    );
  });
}

/** Asks for what was not given. @throws SimfleetError USAGE without a terminal */
async function completed(given: Partial<InitAnswers>, { io }: Context): Promise<InitAnswers> {
  if (!isTerminal(io)) return answersOf(given, (_question, usual) => Promise.resolve(usual));
  return asking(io, (ask) =>
    answersOf(given, async (question, usual) => {
      const text = await ask(
        usual === undefined ? initStrings.ask(question) : initStrings.askWithDefault(question, usual),
      );
      if (text === undefined) throw new SimfleetError("USAGE", initStrings.interrupted);
      return text === "" ? usual : text;
    }),
  );
}

type Answer = (question: string, usual?: string) => Promise<string | undefined>;

async function answersOf(given: Partial<InitAnswers>, answer: Answer): Promise<InitAnswers> {
  const deployment = given.deployment ?? (await answer(initStrings.askDeployment, "svc")) ?? "svc";
  const problems: Problem[] = [];
  const { global, japan } = loadDeployment(deployment, problems).endpoints;
  if (problems.length > 0) throw new ConfigError(problems);
  const needsEndpoint = global === undefined && japan === undefined;
  const endpoint = given.endpoint ?? (needsEndpoint ? await answer(initStrings.askEndpoint) : undefined);
  if (needsEndpoint && endpoint === undefined) throw missing("--endpoint", initStrings.noAddress(deployment));
  const isOpen = global !== undefined && japan !== undefined;
  const coverage = given.coverage ?? (isOpen ? await answer(initStrings.askCoverage, "g") : undefined);
  const authKeyId = given.authKeyId ?? (await answer(initStrings.askAuthKeyId));
  if (authKeyId === undefined) throw missing("--auth-key-id", initStrings.noAuthKeyId);
  const authKeyFile = given.authKeyFile ?? (await answer(initStrings.askAuthKeyFile, "secrets/auth-key")) ?? "";
  const redisUrl = given.redisUrl ?? (given.dataDir ? undefined : await answer(initStrings.askRedisUrl));
  return { deployment, endpoint, coverage, authKeyId, authKeyFile, redisUrl, dataDir: given.dataDir };
}

function missing(option: string, reason: string): SimfleetError {
  return new SimfleetError("USAGE", initStrings.missing(option, reason));
}

/** @throws SimfleetError USAGE if the file exists */
async function write(file: string, text: string, { force }: { force: boolean }): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  if (force) return replaceFile(file, text, { mode: 0o644 });
  try {
    await createFile(file, text, { mode: 0o644 });
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== "EEXIST") throw thrown;
    throw new SimfleetError("USAGE", initStrings.exists(file));
  }
}

/** What to type next; the secret comes first where its file is not ready. */
function nextSteps(file: string, { authKeyFile }: InitAnswers): string[] {
  const naming = file === usualFile ? "" : ` --config ${file}`;
  const check = initStrings.checkStep(`simfleet check${naming}`);
  const read = readSecretFile(authKeyFile);
  if ("secret" in read) return [check];
  const folder = dirname(authKeyFile);
  const making = folder === "." ? "" : `mkdir -p ${folder} && `;
  return [initStrings.secretStep(`${making}(umask 077; cat > ${authKeyFile})`), check];
}

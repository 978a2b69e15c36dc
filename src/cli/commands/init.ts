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

const usualFile = "config/simfleet.yaml";

export function initCommand(context: Context): Command {
  const command = new Command("init")
    .description("write a configuration file; on a terminal, asks for options that are missing")
    .option("--deployment <name>", "installation of the platform: svc, soracom or the path of a deployment file")
    .option("--endpoint <url>", "base address of the platform, without /v1; needed if the deployment has none")
    .option("--coverage <type>", "coverage of the account, g or jp; needed if the deployment has an address for both")
    .option("--auth-key-id <id>", "ID of the AuthKey")
    .option("--auth-key-file <path>", "file that holds the AuthKey's secret")
    .option(
      "--redis-url <url>",
      "address of a Redis server, which several machines can share (default: an embedded Redis)",
    )
    .option("--data-dir <path>", "folder of the embedded Redis (default: ~/.local/share/simfleet)")
    .option("--config <file>", "file to write", usualFile)
    .option("--force", "overwrite the file")
    .option("--json", "print one JSON document on stdout")
    .addHelpText(
      "after",
      `\nExample:\n  simfleet init --endpoint https://api.example.com --auth-key-id keyId-1 --auth-key-file secrets/auth-key`,
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
async function completed(given: Partial<InitAnswers>, { io }: Context): Promise<InitAnswers> {
  if (!isTerminal(io)) return answersOf(given, (_question, usual) => Promise.resolve(usual));
  return asking(io, (ask) =>
    answersOf(given, async (question, usual) => {
      const text = await ask(usual === undefined ? `${question}: ` : `${question} [${usual}]: `);
      if (text === undefined) throw new SimfleetError("USAGE", "Interrupted. Nothing was written");
      return text === "" ? usual : text;
    }),
  );
}

type Answer = (question: string, usual?: string) => Promise<string | undefined>;

async function answersOf(given: Partial<InitAnswers>, answer: Answer): Promise<InitAnswers> {
  const deployment = given.deployment ?? (await answer("Deployment (svc, soracom, or a file)", "svc")) ?? "svc";
  const problems: Problem[] = [];
  const { global, japan } = loadDeployment(deployment, problems).endpoints;
  if (problems.length > 0) throw new ConfigError(problems);
  const needsEndpoint = global === undefined && japan === undefined;
  const endpoint = given.endpoint ?? (needsEndpoint ? await answer("Base address, without /v1") : undefined);
  if (needsEndpoint && endpoint === undefined)
    throw missing("--endpoint", `the deployment ${deployment} has no address`);
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

/** What to type next; the secret comes first where its file is not ready. */
function nextSteps(file: string, { authKeyFile }: InitAnswers): string[] {
  const naming = file === usualFile ? "" : ` --config ${file}`;
  const check = `  simfleet check${naming}    # verify the configuration, Redis, the address and the AuthKey`;
  const read = readSecretFile(authKeyFile);
  if ("secret" in read) return [check];
  const folder = dirname(authKeyFile);
  const making = folder === "." ? "" : `mkdir -p ${folder} && `;
  return [`  ${making}(umask 077; cat > ${authKeyFile})    # paste the secret, then Enter and Ctrl-D`, check];
}

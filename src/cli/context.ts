/** What every command has at hand, and the options that every command takes. */
import { type Command, InvalidArgumentError } from "@commander-js/extra-typings";
import { App } from "#app.ts";
import type { Config } from "#config/config.ts";
import { loadConfig } from "#config/load.ts";
import { SimfleetError } from "#core/errors.ts";
import { createLogger } from "#telemetry/logger.ts";
import { Output, type TextSink } from "./output.ts";

/** The process around a command, handed in by the entry. */
export interface Surroundings {
  readonly env: NodeJS.ProcessEnv;
  readonly stdout: TextSink;
  readonly stderr: TextSink;
  readonly stdin: NodeJS.ReadStream;
  /** Aborts at the first Ctrl-C or TERM. */
  readonly interrupt: AbortSignal;
  /** Sets the exit code of the process. */
  setExitCode(code: number): void;
}

/** Options that every command has. */
export interface CommonOptions {
  readonly config?: string | undefined;
  readonly profile?: string | undefined;
  readonly json?: boolean | undefined;
}

/** Adds the options that every command has, and its example. */
export function withCommon<A extends unknown[], O extends Record<string, unknown>>(
  command: Command<A, O>,
  example: string,
): Command<A, O & { config?: string; profile?: string; json?: true }> {
  return command
    .option("--config <file>", "the YAML configuration (default: SIMFLEET_CONFIG, else config/simfleet.yaml)")
    .option("--profile <name>", "the account to work with (default: SIMFLEET_PROFILE, else default)")
    .option("--json", "print one JSON document on stdout")
    .addHelpText("after", `\nExample:\n${example.replace(/^/gm, "  ")}`) as never;
}

export class Context {
  readonly surroundings: Surroundings;

  constructor(surroundings: Surroundings) {
    this.surroundings = surroundings;
  }

  output(options: CommonOptions): Output {
    const { stdout, stderr } = this.surroundings;
    return new Output({ isJson: options.json === true, stdout, stderr });
  }

  /** @throws ConfigError */
  config(options: CommonOptions): Config {
    const { env } = this.surroundings;
    const profile = options.profile === undefined ? {} : { SIMFLEET_PROFILE: options.profile };
    return loadConfig({ file: options.config, env: { ...env, ...profile } });
  }

  /** Opens the house for the time of `use`, and closes it whatever happens. */
  async withApp<T>(config: Config, use: (app: App) => Promise<T>): Promise<T> {
    const { env, stderr } = this.surroundings;
    const level = env.SIMFLEET_LOG_LEVEL === undefined ? "silent" : config.logLevel;
    const logger = createLogger({ level, destination: stderr });
    const app = await App.open(config, { logger, env });
    let deadlineMs = 20_000;
    try {
      return await use(app);
    } catch (thrown) {
      const explained = App.explained(thrown);
      // Without Redis there is nothing to wait for.
      if (explained instanceof SimfleetError && explained.code === "STORE_UNAVAILABLE") deadlineMs = 1_000;
      throw explained;
    } finally {
      await app.close(deadlineMs);
    }
  }
}

export function asCount(text: string): number {
  const count = Number(text);
  if (!/^\d+$/.test(text) || count < 1 || !Number.isSafeInteger(count)) {
    throw new InvalidArgumentError("It has to be a whole number of at least 1.");
  }
  return count;
}

/** Asks a yes-or-no question on the terminal. */
export async function confirm(surroundings: Surroundings, question: string): Promise<boolean> {
  const { stdin, stderr } = surroundings;
  if (stdin.isTTY !== true || stderr.isTTY !== true) {
    throw new SimfleetError("USAGE", "No terminal to ask for a yes: add --yes to start the run without asking");
  }
  const { createInterface } = await import("node:readline/promises");
  const line = createInterface({ input: stdin, output: process.stderr });
  try {
    const answer = await line.question(`${question} [y/N] `, { signal: surroundings.interrupt });
    return /^y(es)?$/i.test(answer.trim());
  } catch {
    return false;
  } finally {
    line.close();
  }
}

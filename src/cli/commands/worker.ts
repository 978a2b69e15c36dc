/** `simfleet worker`: the always-on process. */
import { Command } from "@commander-js/extra-typings";
import type { Config } from "#config/config.ts";
import { type Logger, createLogger } from "#telemetry/logger.ts";
import { type Context, withCommonHere } from "../context.ts";

export type Serve = (deps: {
  config: Config;
  env: NodeJS.ProcessEnv;
  logger: Logger;
  stop: AbortSignal;
  /** Called with the address once the server accepts requests. */
  onReady?: (url: string) => void;
}) => Promise<void>;

export function workerCommand(context: Context, serve: Serve): Command {
  const command = new Command("worker").description("run the always-on worker; logs JSON lines to stderr");
  return withCommonHere(command, "SIMFLEET_REDIS_URL=redis://10.0.0.5:6379 simfleet worker").action(async (options) => {
    const { env, stderr, interrupt } = context.io;
    const config = context.config(options);
    const format = stderr.isTTY === true ? "lines" : "json";
    const logger = createLogger({ level: config.logLevel, destination: stderr, format });
    await serve({ config, env, logger, stop: interrupt });
    context.output(options).answer({ stopped: true }, () => "");
  });
}

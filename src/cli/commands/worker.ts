/** `simfleet worker`: the always-on process. */
import { Command } from "@commander-js/extra-typings";
import type { ServeOptions } from "#kernel/serve.ts";
import { createLogger } from "#telemetry/logger.ts";
import { type Context, withLocalOptions } from "../context.ts";

/** Runs the worker until the signal aborts (src/kernel/serve.ts). */
export type RunWorker = (options: ServeOptions) => Promise<void>;

export function workerCommand(context: Context, runWorker: RunWorker): Command {
  const command = new Command("worker").description("run the always-on worker; logs JSON lines to stderr");
  return withLocalOptions(command, "SIMFLEET_REDIS_URL=redis://10.0.0.5:6379 simfleet worker").action(
    async (options) => {
      const { env, stderr, interrupt } = context.io;
      const config = await context.config(options);
      const format = stderr.isTTY === true ? "lines" : "json";
      const logger = createLogger({ level: config.logLevel, destination: stderr, format });
      await runWorker({ config, env, features: context.features, logger, stop: interrupt });
      context.output(options).answer({ stopped: true }, () => "");
    },
  );
}

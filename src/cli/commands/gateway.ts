/** `simfleet gateway`: a proxy in front of the platform for other tools, until it is interrupted. */
import { Command } from "@commander-js/extra-typings";
import { createLogger } from "#telemetry/logger.ts";
import { type Context, withLocalOptions } from "../context.ts";

export function gatewayCommand(context: Context): Command {
  const command = new Command("gateway").description("run a quota-sharing proxy for other tools; logs to stderr");
  return withLocalOptions(command, "simfleet gateway --profile default\ncurl http://127.0.0.1:8081/v1/sims").action(
    async (options) => {
      const { env, stderr, interrupt } = context.io;
      const config = await context.config(options);
      const profile = options.profile === undefined ? config.gateway.profile : config.profile;
      const format = stderr.isTTY === true ? "lines" : "json";
      const logger = createLogger({ level: config.logLevel, destination: stderr, format });
      const { serveGateway } = await import("#kernel/serve-gateway.ts");
      await serveGateway({ config, profile, env, features: context.features, logger, stop: interrupt });
      context.output(options).answer({ stopped: true }, () => "");
    },
  );
}

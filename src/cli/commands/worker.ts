/** `simfleet worker` and `simfleet gateway`: processes that run until they are interrupted, and log to stderr. */
import { Command } from "@commander-js/extra-typings";
import { SimfleetError, messageOf } from "#core/errors.ts";
import { limitHeapOfCommand } from "#core/process/heap-room.ts";
import type { ServeOptions } from "#kernel/serve.ts";
import { createLogger } from "#telemetry/logger.ts";
import { type CommonOptions, type Context, withCommon } from "../context.ts";

export function workerCommand(context: Context): Command {
  const command = new Command("worker").description("Run the always-on worker; logs JSON lines to stderr");
  return withCommon(command, "SIMFLEET_REDIS_URL=redis://10.0.0.5:6379 simfleet worker", "locally")
    .addHelpText("after", workerNotes)
    .action((options) =>
      run(context, options, async (process) => {
        const { serve } = await import("#kernel/serve.ts");
        await serve(process);
      }),
    );
}

const workerNotes = `
Address:    http://127.0.0.1:8080 (SIMFLEET_HTTP_HOST, SIMFLEET_HTTP_PORT): dashboard and control API
Health:     /healthz, /readyz, /metrics
Token:      admin-token in the data directory, unless one is configured
Data:       ~/.local/share/simfleet (SIMFLEET_DATA_DIR) with the embedded Redis, or SIMFLEET_REDIS_URL
Stop:       SIGTERM or Ctrl-C; calls in flight are completed within 25 s
Reload:     SIGHUP, or a change of the configuration file`;

export function gatewayCommand(context: Context): Command {
  const command = new Command("gateway").description("Run a quota-sharing proxy for other tools; logs to stderr");
  const example = "simfleet gateway --profile default\ncurl http://127.0.0.1:8081/v1/sims";
  return withCommon(command, example, "locally").action((options) =>
    run(context, options, async (process) => {
      const { gateway, profile: selected } = process.config;
      const { serveGateway } = await import("#kernel/serve-gateway.ts");
      limitHeapOfCommand();
      await serveGateway({ ...process, profile: options.profile === undefined ? gateway.profile : selected });
    }),
  );
}

async function run(
  context: Context,
  options: CommonOptions,
  serve: (process: ServeOptions) => Promise<void>,
): Promise<void> {
  const { env, stderr, interrupt } = context.io;
  const { localConfig } = await import("../connect.ts");
  const format = stderr.isTTY === true ? "lines" : "json";
  try {
    const load = await localConfig(context, options);
    const config = load();
    const logger = createLogger({ level: config.logLevel, destination: stderr, format });
    await serve({ config, load, env, features: context.features, logger, stop: interrupt });
    context.output(options).answer({ stopped: true }, () => "");
  } catch (thrown) {
    // What reads the log as JSON gets no other line.
    if (format === "lines" || options.json === true) throw thrown;
    createLogger({ level: "fatal", destination: stderr, format }).fatal({ error: thrown }, messageOf(thrown));
    context.io.setExitCode(thrown instanceof SimfleetError ? thrown.exitCode : 4);
  }
}

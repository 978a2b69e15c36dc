/** `simfleet gateway`: the gateway in a process of its own. */
import type { Config } from "#config/config.ts";
import { messageOf } from "#core/errors.ts";
import { secondMs } from "#core/time.ts";
import type { Logger } from "#telemetry/logger.ts";
import { App } from "./app.ts";
import { openGateway } from "./modules/gateway.ts";

const stopMs = 20 * secondMs;

export interface ServeGatewayOptions {
  readonly config: Config;
  readonly profile: string;
  readonly env: NodeJS.ProcessEnv;
  readonly logger: Logger;
  readonly stop: AbortSignal;
  /** Called with the address once calls are accepted. */
  readonly onReady?: (url: string) => void;
}

/**
 * Runs until the signal aborts; calls that were sent get their answers.
 * @throws ConfigError, SimfleetError STORE_UNAVAILABLE if it cannot start
 */
export async function serveGateway(options: ServeGatewayOptions): Promise<void> {
  const { config, profile, logger, stop } = options;
  for (const warning of config.warnings) logger.warn({ where: warning.where }, warning.message);
  const app = await App.open(config, options);
  try {
    await app.announceAuthKey(profile).catch((thrown: unknown) => logger.warn({ profile }, messageOf(thrown)));
    const { Metrics, quotaReadings } = await import("#telemetry/metrics.ts");
    const metrics = new Metrics();
    app.onClose("metrics", metrics.watchTimings());
    const url = await openGateway(app, {
      profile,
      logger,
      metrics: async () => ({
        contentType: metrics.contentType,
        text: await metrics.text(quotaReadings(await app.runs.buckets())),
      }),
    });
    options.onReady?.(url);
    if (!stop.aborted) await new Promise((resolve) => stop.addEventListener("abort", resolve, { once: true }));
    logger.info("the gateway is stopping");
  } catch (thrown) {
    throw App.explained(thrown);
  } finally {
    for (const problem of await app.close(stopMs)) logger.warn(problem);
  }
}

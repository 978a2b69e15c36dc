/** The always-on process: does the work of every feature, and serves the control API and health checks over HTTP. */
import { loadUndici } from "#api/http/transport.ts";
import type { Config } from "#config/config.ts";
import { messageOf, SimfleetError } from "#core/errors.ts";
import { removeAbandonedFiles } from "#core/files/write-file.ts";
import { every, minuteMs, systemClock } from "#core/time.ts";
import type { Logger } from "#telemetry/logger.ts";
import { App } from "./app.ts";
import type { AnyAppFeature } from "./feature.ts";
import { standstillMs, watchProgress } from "./progress.ts";

const stopMs = 25_000;
const tidyEveryMs = 60 * minuteMs;

export interface ServeOptions {
  readonly config: Config;
  readonly env: NodeJS.ProcessEnv;
  readonly features: readonly AnyAppFeature[];
  readonly logger: Logger;
  readonly stop: AbortSignal;
  /** Called with the address once the server accepts requests. */
  readonly onReady?: (url: string) => void;
}

/**
 * Runs until the signal aborts, then stops within 25 s: calls in flight are completed, the rest returns to the queue.
 * @throws ConfigError, SimfleetError STORE_UNAVAILABLE if it cannot start
 */
export async function serve(options: ServeOptions): Promise<void> {
  const { config, logger, stop } = options;
  for (const warning of config.warnings) logger.warn({ where: warning.where }, warning.message);
  const app = await App.open(config, options);
  const { kernel } = app;
  try {
    const profiles = Object.keys(config.profiles).filter((name) => config.profiles[name]?.credentials.length !== 0);
    if (profiles.length === 0) kernel.client(config.profile); // throws with what is missing
    // Before the work, so that clients are closed after it.
    for (const profile of profiles) {
      await kernel.accounts.announce(profile).catch((thrown: unknown) => logger.warn({ profile }, messageOf(thrown)));
    }
    const consumers = await app.work(profiles);
    // Loaded only here, so that the other commands start without it; all of it now, since an update replaces the files.
    const [{ openHttp }] = await Promise.all([import("./http.ts"), loadUndici()]);
    const http = await openHttp({
      app,
      health: {
        isMoving: async () => (await Promise.all(consumers.map((c) => c.isMoving(standstillMs)))).every(Boolean),
        isReady: async () => (await kernel.ping()) && !stop.aborted,
      },
    });
    if (config.http.port !== 0 && http.port !== config.http.port) {
      logger.warn({ http: http.url }, `port ${config.http.port} is taken, so health is answered on another`);
    }
    if (config.gateway.port !== undefined) {
      const { openGateway } = await import("./serve-gateway.ts");
      await openGateway(app, { profile: config.gateway.profile });
    }
    await removeTemporaryFiles(app);
    const stopTidying = every(tidyEveryMs, () => void removeTemporaryFiles(app));
    logger.info({ http: http.url, profiles, redis: kernel.redisPlace }, "the worker is ready");
    options.onReady?.(http.url);
    const stuck = new AbortController();
    const stopWatching = watchProgress(consumers, {
      clock: systemClock,
      onStuck: (message) => logger.error(message),
      onGivenUp: (message) => stuck.abort(new SimfleetError("WORKER_STUCK", `${message}: the worker ends`)),
    });
    await aborted(AbortSignal.any([stop, stuck.signal]));
    stopWatching();
    stopTidying();
    logger.info("the worker is stopping");
    await http.close();
    stuck.signal.throwIfAborted();
  } catch (thrown) {
    throw App.explained(thrown);
  } finally {
    for (const problem of await app.close(stopMs)) logger.warn(problem);
  }
  logger.info("the worker has stopped");
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

/** Removes what killed processes have left in the folders that features write files to. */
export async function removeTemporaryFiles(app: Pick<App, "folders">): Promise<void> {
  for (const folder of new Set(await app.folders())) await removeAbandonedFiles(folder);
}

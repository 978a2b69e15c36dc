/** The always-on process: works on the queues of every profile, and serves health checks over HTTP. */
import { loadUndici } from "#api/http/transport.ts";
import type { Config } from "#config/config.ts";
import { SimfleetError, messageOf } from "#core/errors.ts";
import { every, minuteMs, systemClock } from "#core/time.ts";
import type { Logger } from "#telemetry/logger.ts";
import { type ActivityDeps, logActivity } from "./activity-log.ts";
import { App } from "./app.ts";
import type { AppFeature } from "./feature.ts";
import { standstillMs, watchProgress } from "./progress-watch.ts";
import { removeTemporaryFiles } from "./temporary-files.ts";

const stopMs = 25_000;
const tidyEveryMs = 60 * minuteMs;
/** Older ones are most likely over. */
const runsLogged = 20;

export interface ServeOptions {
  readonly config: Config;
  readonly env: NodeJS.ProcessEnv;
  readonly features: readonly AppFeature[];
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
  const { config, features, logger, stop } = options;
  for (const warning of config.warnings) logger.warn({ where: warning.where }, warning.message);
  const app = await App.open(config, options);
  try {
    const profiles = Object.keys(config.profiles).filter((name) => config.profiles[name]?.credentials.length !== 0);
    if (profiles.length === 0) app.client(config.profile); // throws with what is missing
    // Before the work, so that clients are closed after it.
    for (const profile of profiles) {
      await app.announceAuthKey(profile).catch((thrown: unknown) => logger.warn({ profile }, messageOf(thrown)));
    }
    const started = await Promise.all(
      features.map(async ({ work }) => (await work?.(app, { profiles, logger })) ?? []),
    );
    const consumers = started.flat();
    // Loaded only here, so that the other commands start without it; all of it now, since an update replaces the files.
    const [{ openHttp }] = await Promise.all([import("./http.ts"), loadUndici()]);
    const http = await openHttp({
      app,
      config,
      features,
      logger,
      health: {
        isMoving: async () => (await Promise.all(consumers.map((c) => c.isMoving(standstillMs)))).every(Boolean),
        isReady: async () => (await app.ping()) && !stop.aborted,
      },
    });
    if (config.http.port !== 0 && http.port !== config.http.port) {
      logger.warn({ http: http.url }, `port ${config.http.port} is taken, so health is answered on another`);
    }
    if (config.gateway.port !== undefined) {
      const { openGateway } = await import("./modules/gateway.ts");
      await openGateway(app, { profile: config.gateway.profile, logger });
    }
    await removeTemporaryFiles(config);
    const stopTidying = every(tidyEveryMs, () => void removeTemporaryFiles(config));
    logger.info({ http: http.url, profiles, redis: app.redisPlace }, "the worker is ready");
    options.onReady?.(http.url);
    const stopActivity = logActivity(activityOf(app, profiles, logger));
    const stuck = new AbortController();
    const stopWatching = watchProgress(consumers, {
      clock: systemClock,
      onStuck: (message) => logger.error(message),
      onGivenUp: (message) => stuck.abort(new SimfleetError("WORKER_STUCK", `${message}: the worker ends`)),
    });
    await aborted(AbortSignal.any([stop, stuck.signal]));
    stopWatching();
    stopTidying();
    stopActivity();
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

function activityOf({ runs, sims }: App, profiles: readonly string[], logger: Logger): ActivityDeps {
  return {
    runs: async () => (await runs.list({ limit: runsLogged })).runs,
    syncs: async () => {
      const reports = await Promise.all(profiles.map((profile) => sims.syncReport(profile)));
      return reports.filter((report) => report !== undefined);
    },
    logger,
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

/** The always-on process: works on the queues of every profile, and serves health checks over HTTP. */
import type { Config } from "#config/config.ts";
import { SimfleetError, messageOf } from "#core/errors.ts";
import { every, minuteMs, systemClock } from "#core/time.ts";
import type { Incident } from "#engine/queue/working.ts";
import { watchStorage } from "#jobs/storage/watch.ts";
import type { Logger } from "#telemetry/logger.ts";
import { type ActivityDeps, logActivity } from "./activity-log.ts";
import { App, type Working } from "./app.ts";
import type { FeatureRoutes } from "./endpoints.ts";
import { standstillMs, watchProgress } from "./progress-watch.ts";

const stopMs = 25_000;
const trimEveryMs = 60 * minuteMs;
/** Older ones are most likely over. */
const runsLogged = 20;

export interface ServeOptions {
  readonly config: Config;
  readonly env: NodeJS.ProcessEnv;
  readonly features: readonly FeatureRoutes[];
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
  if (config.seal === undefined && Object.keys(config.rotations).length > 0) {
    logger.warn({ where: "seal.keyFile" }, "rotations are configured but will not run: no key to seal secrets is set");
  }
  const app = await App.open(config, options);
  try {
    const profiles = Object.keys(config.profiles).filter((name) => config.profiles[name]?.credentials.length !== 0);
    if (profiles.length === 0) app.client(config.profile); // throws with what is missing
    // Before the work, so that clients are closed after it.
    for (const profile of profiles) {
      await app.announceAuthKey(profile).catch((thrown: unknown) => logger.warn({ profile }, messageOf(thrown)));
    }
    const consumers = await startWork(app, profiles, logger);
    // Loaded only here, so that the other commands start without the server's dependencies.
    const { openHttp } = await import("./http.ts");
    const http = await openHttp({
      ...{ app, config, features, logger },
      health: {
        isMoving: async () => (await Promise.all(consumers.map((c) => c.isMoving(standstillMs)))).every(Boolean),
        isReady: async () => (await app.ping()) && !stop.aborted,
      },
    });
    if (config.http.port !== 0 && http.port !== config.http.port) {
      logger.warn({ http: http.url }, `port ${config.http.port} is taken, so health is answered on another`);
    }
    const stopTrimming = every(trimEveryMs, () => {
      app.feed.trim().catch((thrown: unknown) => logger.warn(`old events could not be dropped: ${messageOf(thrown)}`));
    });
    const stopStorage = watchStorage(app.storage, {
      onSwept: (removed) => logger.info({ removed }, "old data was removed"),
      onProblem: (message) => logger.warn({ job: "storage" }, message),
    });
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
    stopActivity();
    stopTrimming();
    await stopStorage();
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

/** Starts everything that this process works on. */
async function startWork(app: App, profiles: readonly string[], logger: Logger): Promise<Working[]> {
  const { config } = app;
  const consumers = await Promise.all(
    profiles.flatMap((profile) => [
      ...app.runs
        .bucketsOf(profile)
        .map((bucket) =>
          app.consume({ profile, bucket }, (incident) =>
            logger.error({ profile, runId: incident.runId }, incident.message),
          ),
        ),
      app.consumeSyncs(profile, (incident) => logger.error({ profile, job: "sync" }, incident.message)),
      // Without a key to seal secrets nothing is rotated; the worker does everything else.
      ...(config.seal !== undefined
        ? [app.consumeRotations(profile, (incident) => logger.error({ profile, job: "rotate" }, incident.message))]
        : []),
    ]),
  );
  // A missing setting here does not prevent the rest of the work.
  for (const profile of Object.keys(config.authKeys).filter((name) => profiles.includes(name))) {
    const onIncident = (incident: Incident): void => logger.error({ profile, job: "authkeys" }, incident.message);
    await app.consumeAuthKeys(profile, onIncident).then(
      (working) => consumers.push(working),
      (thrown: unknown) => logger.warn({ profile }, `AuthKeys are not rotated here: ${messageOf(thrown)}`),
    );
  }
  const onIncident = (incident: Incident): void => logger.error({ job: "schedules" }, incident.message);
  // Also if none are configured: schedules that were removed are deleted from the queue.
  consumers.push(await app.consumeSchedules(onIncident));
  await app.consumeAutomations((incident) => logger.error({ job: "automations" }, incident.message));
  app.watchDropFolder((incident) => logger.error({ job: "drop-folder" }, incident.message));
  consumers.push(await app.consumeDeliveries((incident) => logger.error({ job: "deliver" }, incident.message)));
  return consumers;
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

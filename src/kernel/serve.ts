/** The always-on process: does the work of every feature, and serves the control API and health checks over HTTP. */
import { once } from "node:events";
import { loadUndici } from "#api/http/transport.ts";
import type { Config } from "#config/config.ts";
import { SimfleetError } from "#core/errors.ts";
import { removeAbandonedFiles } from "#core/files/write-file.ts";
import { every, minuteMs, systemClock, type Clock, secondMs } from "#core/time.ts";
import type { Logger } from "#telemetry/logger.ts";
import { App } from "./app.ts";
import type { AnyAppFeature } from "./feature.ts";
import type { Kernel } from "./kernel.ts";
import { announceTasks, lookAt, type Reloaded, watchConfig } from "./reload.ts";
import type { Working } from "#engine/queue/job-result.ts";

const stopMs = 25_000;
const tidyEveryMs = 60 * minuteMs;

export interface ServeOptions {
  readonly config: Config;
  readonly env: NodeJS.ProcessEnv;
  readonly features: readonly AnyAppFeature[];
  readonly logger: Logger;
  readonly stop: AbortSignal;
  /** Reads the configuration again when its file has changed. @throws ConfigError */
  readonly load: () => Config;
  /** Called with the address once the server accepts requests. */
  readonly onReady?: (url: string) => void;
}

/**
 * Runs until the signal aborts, then stops within 25 s: calls in flight are completed, the rest returns to the queue.
 * When the tasks of the configuration have changed, it does the same and starts again with them.
 * @throws ConfigError, SimfleetError STORE_UNAVAILABLE if it cannot start
 */
export async function serve(options: ServeOptions): Promise<void> {
  for (const { where, message } of options.config.warnings) options.logger.warn({ where }, message);
  let newer = await serveUntilReload(options, { seen: lookAt(options.config) });
  while (newer !== undefined) {
    const { config, seen } = newer;
    newer = await serveUntilReload({ ...options, config }, { seen, isReloaded: true });
  }
  options.logger.info("the worker has stopped");
}

/** @returns the configuration to continue with, and what was seen of its file; undefined: the worker stops */
async function serveUntilReload(
  options: ServeOptions,
  { seen, isReloaded = false }: Pick<Reloaded, "seen"> & { readonly isReloaded?: boolean },
): Promise<Reloaded | undefined> {
  const { config, logger, stop, load } = options;
  const app = await App.open(config, options);
  const { kernel } = app;
  const reload = watchConfig(kernel, load, seen);
  try {
    await announceTasks(kernel);
    if (isReloaded) await kernel.accounts.emit("configuration.reloaded", { hash: config.tasksHash ?? "none" });
    const profiles = await announceProfiles(kernel);
    const consumers = await app.work(profiles);
    // Loaded only here, so that the other commands start without it; all of it now, since an update replaces the files.
    const [{ openHttp }] = await Promise.all([import("./http.ts"), loadUndici()]);
    const http = await openHttp({
      app,
      health: {
        isMoving: async () => (await Promise.all(consumers.map((c) => c.isMoving(standstillMs)))).every(Boolean),
        isReady: async () => (await kernel.ping()) && !stop.aborted,
        isConfigRejected: reload.isRejected,
      },
    });
    if (config.gateway.port !== undefined) {
      const { openGateway } = await import("./serve-gateway.ts");
      await openGateway(app, { profile: config.gateway.profile });
    }
    await removeTemporaryFiles(app);
    kernel.lifecycle.onStop(
      "tidying",
      every(tidyEveryMs, () => void removeTemporaryFiles(app)),
    );
    const state = { http: http.url, profiles, redis: kernel.redisPlace, configuration: config.tasksHash };
    logger.info(state, "the worker is ready");
    options.onReady?.(http.url);
    const stuck = new AbortController();
    const stopWatching = watchProgress(consumers, {
      clock: systemClock,
      onStuck: (message) => logger.error(message),
      onGivenUp: (message) => stuck.abort(new SimfleetError("WORKER_STUCK", `${message}: the worker ends`)),
    });
    const end = AbortSignal.any([stop, stuck.signal, reload.signal]);
    if (!end.aborted) await once(end, "abort");
    stopWatching();
    const newer = stop.aborted ? undefined : reload.next();
    logger.info(
      newer === undefined ? "the worker is stopping" : "the worker restarts its work: its tasks have changed",
    );
    stuck.signal.throwIfAborted();
    return newer;
  } catch (thrown) {
    throw App.explained(thrown);
  } finally {
    reload.stop();
    for (const problem of await app.close(stopMs)) logger.warn(problem);
  }
}

/** @returns the profiles with credentials. @throws ConfigError if there is none */
async function announceProfiles({ config, client, accounts }: Kernel): Promise<string[]> {
  const profiles = Object.keys(config.profiles).filter((name) => config.profiles[name]?.credentials.length !== 0);
  if (profiles.length === 0) client(config.profile); // throws with what is missing
  // Before the work, so that clients are closed after it.
  for (const profile of profiles) await accounts.announce(profile);
  return profiles;
}

/** Removes what killed processes have left in the folders that features write files to. */
export async function removeTemporaryFiles(app: Pick<App, "folders">): Promise<void> {
  for (const folder of new Set(await app.folders())) await removeAbandonedFiles(folder);
}

/** A worker that has not picked up waiting work for this long is stuck. */
const standstillMs = minuteMs;
const checkEveryMs = 10 * secondMs;
/** A consumer that is stuck again within this time after it got new connections is given up. */
const graceMs = 3 * standstillMs;

interface ProgressWatch {
  readonly clock: Clock;
  /** A consumer gets new connections. */
  readonly onStuck: (message: string) => void;
  readonly onGivenUp: (message: string) => void;
}

/**
 * A consumer that holds work and starts none is reported and gets new connections; if that does not help, the process
 * gives up, so that its supervisor restarts it. After an outage of Redis a process can be connected and still stuck.
 * @returns a function that ends the watch
 */
export function watchProgress(consumers: readonly Working[], { clock, onStuck, onGivenUp }: ProgressWatch): () => void {
  const restartedAtMs = new Map<Working, number>();
  const held = `work waits, and none was started for ${standstillMs / secondMs} s`;
  const check = async (consumer: Working): Promise<void> => {
    // While Redis is away, nothing is known about progress.
    if (await consumer.isMoving(standstillMs).catch(() => true)) return;
    const nowMs = clock.monotonicMs();
    if (nowMs - (restartedAtMs.get(consumer) ?? Number.NEGATIVE_INFINITY) < graceMs) {
      onGivenUp(`${held}, also with new connections`);
      return;
    }
    restartedAtMs.set(consumer, nowMs);
    onStuck(`${held}: connecting to the queue again`);
    await consumer.restart().catch(() => undefined);
  };
  return every(checkEveryMs, () => {
    for (const consumer of consumers) void check(consumer);
  });
}

/** The always-on process: works on the queues of every profile, and serves health checks over HTTP. */
import { loadUndici } from "#api/http/transport.ts";
import { SimfleetError, messageOf } from "#core/errors.ts";
import { every, minuteMs, systemClock, secondMs, type Clock } from "#core/time.ts";
import { App } from "./app.ts";
import type { AppFeature } from "./feature.ts";
import { isRunOver } from "#fleet/run.ts";
import type { SyncReport } from "#jobs/inventory/contract.ts";
import type { RunReport } from "#jobs/runs/contract.ts";
import type { Logger } from "#telemetry/logger.ts";
import type { Working } from "#engine/queue/working.ts";
import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Config } from "#config/config.ts";
import { removeAbandonedFiles } from "#core/files/write-file.ts";

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

// Logs each run and each sync at its start and its end, with its counts. It compares the reports of the newest runs and of
// the last sync of each profile every few seconds: reading the event feed, which has a line per changed SIM, would cost a
// large run more than this.

const pollIntervalMs = 5 * secondMs;

interface ActivityDeps {
  /** The newest ones first. */
  readonly runs: () => Promise<readonly RunReport[]>;
  readonly syncs: () => Promise<readonly SyncReport[]>;
  readonly logger: Pick<Logger, "info" | "debug">;
}

/** @returns what stops it */
function logActivity(deps: ActivityDeps): () => void {
  const log = new ActivityLog(deps);
  const poll = (): void => {
    log.poll().catch((thrown: unknown) => deps.logger.debug(`activity could not be read: ${messageOf(thrown)}`));
  };
  poll();
  return every(pollIntervalMs, poll);
}

export class ActivityLog {
  readonly #deps: ActivityDeps;
  /** By id, the last state that was seen. */
  #states = new Map<string, string>();
  #isFirst = true;

  constructor(deps: ActivityDeps) {
    this.#deps = deps;
  }

  /** Logs what has changed since the last time; at first only what is in progress. */
  async poll(): Promise<void> {
    const [runs, syncs] = await Promise.all([this.#deps.runs(), this.#deps.syncs()]);
    const states = new Map<string, string>();
    for (const run of runs.toReversed()) {
      states.set(run.runId, run.state);
      this.#note(run.runId, run.state, { isOver: isRunOver(run.state), ...runTexts(run) });
    }
    for (const sync of syncs) {
      const isOver = sync.state === "finished" || sync.state === "failed";
      const state = isOver ? sync.state : "running";
      states.set(sync.syncId, state);
      this.#note(sync.syncId, state, { isOver, ...syncTexts(sync) });
    }
    this.#states = states;
    this.#isFirst = false;
  }

  #note(id: string, state: string, work: { isOver: boolean; facts: object; what: string; end: string }): void {
    const before = this.#states.get(id);
    const { isOver, facts, what, end } = work;
    if (before === state || (isOver && this.#isFirst)) return;
    if (before === undefined) this.#deps.logger.info(facts, `${what} started`);
    if (isOver) this.#deps.logger.info(facts, `${what} ${end}`);
    else if (before !== undefined) this.#deps.logger.info(facts, `${what} is ${state}`);
  }
}

function runTexts({ runId, profile, name, counts, state, submittedBy }: RunReport) {
  return { facts: { runId, profile, name, by: submittedBy, ...counts }, what: "the run", end: `ended: ${state}` };
}

function syncTexts({ syncId, profile, state, sims, added, changed, returned, gone, reason }: SyncReport) {
  const facts = { syncId, profile, sims, added, changed, returned, gone, reason };
  return { facts, what: "the sync", end: state };
}

// Watches that a worker makes progress. A consumer that holds work and starts none is reported and gets new connections; if
// that does not help, the process gives up, so that its supervisor starts it again. After an outage of Redis a process can be
// connected and still be stuck.

/** A worker that has not picked up waiting work for this long is stuck. */
const standstillMs = minuteMs;
const checkEveryMs = 10 * secondMs;
/** A consumer that is stuck again within this time after it got new connections is given up. */
const graceMs = 3 * standstillMs;

interface ProgressReporter {
  /** A consumer gets new connections. */
  readonly onStuck: (message: string) => void;
  readonly onGivenUp: (message: string) => void;
}

/** @returns a function that ends the watch */
export function watchProgress(
  consumers: readonly Working[],
  { clock, onStuck, onGivenUp }: ProgressReporter & { readonly clock: Clock },
): () => void {
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

// The folders that a worker writes files to, to remove what a killed process has left there.

/** Removes temporary files of killed processes beside the sinks and reports, and from the archive. */
export async function removeTemporaryFiles(
  config: Pick<Config, "rotations" | "authKeys" | "schedules" | "automations" | "retention">,
): Promise<void> {
  const { rotations, authKeys, schedules, automations, retention } = config;
  const sinks = [...Object.values(rotations), ...Object.values(authKeys)].flatMap((one) => one.sinks);
  const tasks = [...schedules.map(({ task }) => task), ...automations.map(({ action }) => action)];
  const files = [
    ...sinks.flatMap((sink) => (sink.kind === "file" ? [sink.path] : [])),
    ...tasks.flatMap((task) => (task.job === "report" ? [task.file] : [])),
  ];
  const months = retention.archive === undefined ? [] : await archivedMonths(retention.archive);
  for (const folder of new Set([...files.map((file) => dirname(file)), ...months])) await removeAbandonedFiles(folder);
}

/** `<archive>/2026/11` */
async function archivedMonths(archive: string): Promise<string[]> {
  const years = await foldersIn(archive, /^\d{4}$/);
  return (await Promise.all(years.map((year) => foldersIn(year, /^\d{2}$/)))).flat();
}

async function foldersIn(path: string, isWanted: RegExp): Promise<string[]> {
  const names = await readdir(path).catch(() => []);
  return names.filter((name) => isWanted.test(name)).map((name) => join(path, name));
}

/**
 * The composition root: builds every module from the configuration and knows the order in which they open and close. It
 * makes no decisions; commands and the worker open it, use its modules and close it.
 */
import { homedir, hostname } from "node:os";
import { isAbsolute, join } from "node:path";
import type { PlatformClient } from "#api/client.ts";
import { SimfleetError } from "#core/errors.ts";
import { letNewSpaceGrow } from "#core/heap-room.ts";
import { Lifecycle } from "#core/lifecycle.ts";
import { type Clock, systemClock } from "#core/time.ts";
import type { Feed } from "#events/feed.ts";
import { FeedTail } from "#events/tail.ts";
import { type FreezeDeps, unlessFrozen } from "#jobs/freezes/freeze-watch.ts";
import { execute } from "#jobs/runs/work/execute.ts";
import type { WorkResult, JobResult } from "#engine/queue/job-result.ts";
import type { SegmentReference } from "#jobs/runs/work/row-attempt.ts";
import { syncInventory } from "#jobs/inventory/work.ts";
import { RunWatch } from "#jobs/runs/work/run-watch.ts";
import { Backlog } from "#jobs/runs/work/outcome-writer.ts";
import type { Limiter } from "#limiter/limiter.ts";
import type { Account } from "#api/account.ts";
import { Seal } from "#engine/seal.ts";
import { inputSeal, type SealInputs } from "#jobs/runs/sealed-inputs.ts";
import { Consumer } from "#jobs/runs/work/consumer.ts";
import type { Incident, Working } from "#engine/queue/working.ts";
import { Queues } from "#jobs/runs/work/queues.ts";
import { type SyncQueues, syncQueues } from "#jobs/inventory/queue.ts";
import type { RedisConnections } from "#redis/connection.ts";
import { inWordsOfRedis } from "#redis/refusal.ts";
import { openRedis } from "#redis/open.ts";
import { type RedisFacts, verifyRedis } from "#redis/verify.ts";
import { respondsInTime } from "#redis/time.ts";
import type { CredentialService } from "#jobs/credentials/service.ts";
import type { AutomationService } from "#jobs/automations/service.ts";
import type { AuthKeyService } from "#jobs/authkeys/service.ts";
import type { ScheduleService } from "#jobs/schedules/service.ts";
import { SimService } from "#jobs/inventory/service.ts";
import type { WebhookService } from "#jobs/webhooks/service.ts";
import { newSyncId } from "#jobs/inventory/sync-report.ts";
import type { Freezes } from "#jobs/freezes/record.ts";
import type { Inventory } from "#jobs/inventory/store/inventory.ts";
import type { Ledger } from "#jobs/runs/ledger/ledger.ts";
import { isSyncOver } from "#jobs/inventory/store/sync-record.ts";
import type { Logger } from "#telemetry/logger.ts";
import { Accounts } from "./modules/accounts.ts";
import { AuthKeys } from "./modules/authkeys.ts";
import type { StoreDeps } from "#engine/store-deps.ts";
import { buildStores, openData, type Stores } from "./stores.ts";
import { Unattended } from "./modules/unattended.ts";
import { version } from "#core/version.ts";
import { ControlParts } from "./modules/control.ts";
import { Rotations } from "./modules/credentials.ts";
import { Webhooks } from "./modules/webhooks.ts";
import type { RemoteTarget } from "#redis/target.ts";
import type { Redis } from "ioredis";
import { RunService } from "#jobs/runs/service.ts";
import { redisMemory } from "#redis/memory.ts";
import type { Config } from "#config/config.ts";
import { type Wording, keyColumnOf } from "#fleet/sim/sim.ts";
import type { RotationLog } from "#jobs/credentials/record.ts";
import { type StorageService, storageService } from "#jobs/storage/service.ts";

/** Number of segments that one process works on at once; each has several calls in flight. */
const segmentsAtOnce = 4;

const userAgent = `simfleet/${version}`;

export type { Working } from "#engine/queue/working.ts";

export class App {
  readonly config: Config;
  readonly runs: RunService;
  readonly sims: SimService;
  readonly credentials: CredentialService;
  /** What only the control API needs. */
  readonly control: ControlParts;
  readonly authKeys: AuthKeyService;
  readonly schedules: ScheduleService;
  readonly automations: AutomationService;
  readonly webhooks: WebhookService;
  readonly storage: StorageService;
  /** The live end of the feed: one reader for all subscribers. */
  readonly tail: FeedTail;
  readonly redisFacts: RedisFacts;
  /** Location of the data, for display. */
  readonly redisPlace: string;
  readonly #clock: Clock;
  readonly #stores: Stores;
  readonly #redis: Redis;
  readonly #connections: RedisConnections;
  readonly #queues: Queues;
  readonly #lifecycle: Lifecycle;
  readonly #syncQueues: SyncQueues;
  readonly #rotations: Rotations;
  readonly #accounts: Accounts;
  readonly #authKeys: AuthKeys;
  readonly #unattended: Unattended;
  readonly #webhooks: Webhooks;
  readonly #working = new Set<Working>();
  readonly #backlog = new Backlog();
  readonly #watch: RunWatch;
  readonly #inputSeal: ReturnType<typeof inputSeal>;

  private constructor(deps: {
    config: Config;
    clock: Clock;
    connections: RedisConnections;
    redisFacts: RedisFacts;
    redisPlace: string;
    lifecycle: Lifecycle;
    logger: Logger;
    env: NodeJS.ProcessEnv;
  }) {
    this.config = deps.config;
    this.redisFacts = deps.redisFacts;
    this.redisPlace = deps.redisPlace;
    this.#clock = deps.clock;
    this.#connections = deps.connections;
    this.#lifecycle = deps.lifecycle;
    const redis = deps.connections.connect("main");
    this.#redis = redis;
    const stores = buildStores({ ...deps, redis });
    this.#stores = stores;
    const { ledger, inventory, feed, workerRegistry, syncs, keys } = stores;
    this.#watch = new RunWatch({ ledger });
    this.#accounts = new Accounts({ ...deps, ...stores, userAgent });
    const connect = (name: string): Redis => deps.connections.connect(name);
    this.#queues = new Queues({ connect, keys, ledger, clock: deps.clock });
    deps.lifecycle.onStop("queues", () => this.#queues.close());
    const wordingOf = (profile: string): Wording => this.wordingOf(profile);
    const { seal } = deps.config;
    this.#inputSeal = inputSeal(seal === undefined ? undefined : new Seal(seal));
    const { clock } = deps;
    const sealInputs = this.#inputSeal;
    this.runs = openRuns({ config: deps.config, clock, redis, stores, queues: this.#queues, sealInputs, wordingOf });
    const queueDeps = { connect, keys, workerRegistry, clock: deps.clock };
    this.#syncQueues = syncQueues(queueDeps);
    deps.lifecycle.onStop("sync queues", () => this.#syncQueues.close());
    this.sims = new SimService({ inventory, syncs, syncQueues: this.#syncQueues, feed, wordingOf });
    const { accounts, freezeDeps } = { accounts: this.#accounts, freezeDeps: this.#freezeDeps };
    const appDeps = { ...deps, ...stores, redis, queueDeps, userAgent, accounts, freezeDeps };
    this.#rotations = new Rotations({ ...appDeps, clientOf: (profile) => this.client(profile) });
    this.credentials = this.#rotations.service;
    this.#authKeys = new AuthKeys(appDeps);
    this.authKeys = this.#authKeys.service;
    const { runs, sims, credentials, authKeys } = this;
    this.#unattended = new Unattended({ ...appDeps, runService: runs, sims, credentials, authKeys, wordingOf });
    this.schedules = this.#unattended.schedules;
    this.automations = this.#unattended.automations;
    this.#webhooks = new Webhooks(appDeps);
    this.webhooks = this.#webhooks.service;
    this.storage = openStorage({ ...appDeps, runs, rotationLog: this.#rotations.log, wordingOf });
    this.tail = new FeedTail({ feed, connect: () => connect("tail"), clock: deps.clock });
    deps.lifecycle.onStop("followers of the feed", () => this.tail.close());
    this.control = new ControlParts({ ...appDeps, sims, connect, auditKeepMs: deps.config.audit.keepMs });
  }

  /** What the store of a feature needs. */
  get storeDeps(): StoreDeps {
    return this.#stores.storeDeps;
  }

  get ledger(): Ledger {
    return this.#stores.ledger;
  }

  get inventory(): Inventory {
    return this.#stores.inventory;
  }

  get limiter(): Limiter {
    return this.#stores.limiter;
  }

  get feed(): Feed {
    return this.#stores.feed;
  }

  get freezes(): Freezes {
    return this.#stores.freezes;
  }

  get #freezeDeps(): FreezeDeps {
    return { clock: this.#clock, freezeOf: (profile) => this.freezes.of(profile) };
  }

  /**
   * Opens Redis (an embedded one if none is configured) and builds the modules on it.
   * @throws SimfleetError STORE_UNAVAILABLE
   */
  static async open(config: Config, deps: { logger: Logger; env: NodeJS.ProcessEnv; clock?: Clock }): Promise<App> {
    const clock = deps.clock ?? systemClock;
    const lifecycle = new Lifecycle(clock);
    try {
      await startTracing(config, lifecycle);
      const connections = await openRedis(redisTargetOf(config), {
        clock,
        lifecycle,
        cacheDir: join(deps.env.XDG_CACHE_HOME || cacheHome(config.dataDir), "simfleet"),
        path: deps.env.PATH ?? "/usr/bin:/bin",
        env: deps.env,
        onError: (error) => deps.logger.debug({ error }, "Redis"),
      });
      const redisFacts = await verifyRedis(connections, clock);
      await openData(connections);
      const redisPlace = config.redis?.address ?? `embedded, in ${join(config.dataDir, "redis")}`;
      const { logger, env } = deps;
      return new App({ config, clock, connections, redisFacts, redisPlace, lifecycle, logger, env });
    } catch (thrown) {
      await lifecycle.stop(5_000);
      throw thrown;
    }
  }

  /** The account of a profile, as `client`. */
  account(profile: string): Account {
    return this.#accounts.account(profile);
  }

  /** @throws PlatformError CONFIG_INVALID if the profile may use two addresses; the work itself shows other faults */
  async assertAddress(profile: string): Promise<void> {
    const fault = await this.client(profile)
      .assertAddress()
      .then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
    if (fault instanceof SimfleetError && fault.code === "CONFIG_INVALID") throw fault;
  }

  /**
   * The client of a profile, created on first use.
   * @throws ConfigError if the profile lacks credentials or an address
   */
  client(profile: string): PlatformClient {
    return this.#accounts.account(profile).client;
  }

  /**
   * The profile that a request is about: the one it names, else the configuration's.
   * @throws SimfleetError NOT_FOUND
   */
  profileOf(named?: string): string {
    if (named === undefined) return this.config.profile;
    if (Object.hasOwn(this.config.profiles, named)) return named;
    const known = Object.keys(this.config.profiles).join(", ");
    throw new SimfleetError("NOT_FOUND", `There is no profile ${named}; known: ${known}`);
  }

  wordingOf(profile: string): Wording {
    return this.config.profiles[profile]?.profile.wording ?? "sims";
  }

  /** Works on the queue of a profile's bucket until stopped. */
  async consume(
    { profile, bucket }: { profile: string; bucket: string },
    onIncident: (incident: Incident) => void,
  ): Promise<Working> {
    const consumer = await Consumer.start({
      bucket,
      connect: (name) => this.#connections.connect(name),
      keys: this.#stores.keys,
      queues: this.#queues,
      ledger: this.ledger,
      workerRegistry: this.#stores.workerRegistry,
      clock: this.#clock,
      segmentsAtOnce,
      onIncident,
      execute: (reference, stop) => {
        const onFrozen = (message: string, delayMs: number): Promise<void> =>
          this.ledger.recordProblem(reference.runId, { message, delayMs, isExpected: true });
        const deps = { ...this.#freezeDeps, scope: "bucket", signal: stop, onFrozen } as const;
        return unlessFrozen(profile, deps, (signal) => this.#execute(reference, signal));
      },
    });
    return this.#watchOver(`consumer of ${bucket}`, consumer);
  }

  /** Works on a profile's syncs until stopped. */
  async consumeSyncs(profile: string, onIncident: (incident: Incident) => void): Promise<Working> {
    const working = await this.#syncQueues.consume(profile, {
      onIncident,
      sync: (name, signal) => this.#sync(name, signal),
      isInProgress: async (name) => {
        const state = await this.#stores.syncs.state(name);
        return state !== undefined && !isSyncOver(state);
      },
    });
    return this.#watchOver(`syncs of ${profile}`, working);
  }

  /** Works on a profile's rotations until stopped. @throws ConfigError if no key to seal secrets is configured */
  async consumeRotations(profile: string, onIncident: (incident: Incident) => void): Promise<Working> {
    return this.#watchOver(`rotations of ${profile}`, await this.#rotations.consume(profile, onIncident));
  }

  /** Works on the rotations of a profile's AuthKey until stopped. @throws ConfigError with what is missing */
  async consumeAuthKeys(profile: string, onIncident: (incident: Incident) => void): Promise<Working> {
    return this.#watchOver(`AuthKeys of ${profile}`, await this.#authKeys.consume(profile, onIncident));
  }

  /** Runs the tasks of the schedules at their times until stopped. */
  async consumeSchedules(onIncident: (incident: Incident) => void): Promise<Working> {
    return this.#watchOver("schedules", await this.#unattended.consumeSchedules(onIncident));
  }

  /** Runs the automations until stopped. */
  async consumeAutomations(onIncident: (incident: Incident) => void): Promise<void> {
    for (const automation of this.config.automations) {
      const consumer = await this.#unattended.consumeAutomation(automation, onIncident);
      this.#lifecycle.onStop(`automation ${automation.name}`, () => consumer.stop());
    }
  }

  /** Turns the files of the drop folder into runs until stopped; does nothing if no folder is configured. */
  watchDropFolder(onIncident: (incident: Incident) => void): void {
    const watch = this.#unattended.watchDropFolder(onIncident);
    if (watch !== undefined) this.#lifecycle.onStop("drop folder", () => watch.stop());
  }

  /** Turns events into messages for webhooks and delivers them, until stopped. */
  async consumeDeliveries(onIncident: (incident: Incident) => void): Promise<Working> {
    return this.#watchOver("deliveries", await this.#webhooks.consume(onIncident));
  }

  /** Registers how to stop what was started for a feature. */
  onClose(name: string, stop: () => Promise<void> | void): void {
    this.#lifecycle.onStop(name, stop);
  }

  /** Authenticates with each of a profile's AuthKeys separately, if it has two, and returns which ones are rejected. */
  proveAuthKeys(profile: string): Promise<{ readonly authKeyId: string; readonly fault: unknown }[]> {
    return this.#accounts.proveAuthKeys(profile);
  }

  /** Announces to other processes which AuthKey this process uses for a profile. @throws ConfigError as `client` */
  announceAuthKey(profile: string): Promise<void> {
    return this.#accounts.announce(profile);
  }

  /** Its owner may stop it earlier; closing the app stops it in any case. */
  #watchOver(name: string, working: Working): Working {
    const stop = async (): Promise<void> => {
      if (this.#working.delete(working)) await working.stop();
    };
    this.#working.add(working);
    this.#lifecycle.onStop(name, stop);
    return { isMoving: (withinMs) => working.isMoving(withinMs), restart: () => working.restart(), stop };
  }

  async #execute(reference: SegmentReference, signal: AbortSignal): Promise<JobResult> {
    letNewSpaceGrow();
    const context = {
      ledger: this.ledger,
      inventory: this.inventory,
      clock: this.#clock,
      lanes: this.config.limits.connections,
      backlog: this.#backlog,
      watch: this.#watch,
      accountFor: (profile: string) => this.#accounts.account(profile),
      openInputs: this.#inputSeal.open,
      guard: this.#stores.guard,
    };
    return execute(reference, context, signal);
  }

  async #sync(profile: string, signal: AbortSignal): Promise<WorkResult> {
    const { syncs, inventory, guard } = this.#stores;
    const context = {
      syncs,
      inventory,
      guard,
      clock: this.#clock,
      accountFor: (name: string) => this.#accounts.account(name),
      newSyncId: () => newSyncId(this.#clock.wallMs()),
    };
    const result = await syncInventory(profile, context, signal);
    if (result.kind === "ended") await this.feed.trim();
    return result;
  }

  /** Whether Redis responds within a second. @throws SimfleetError STORE_UNAVAILABLE if it refuses writes */
  ping(): Promise<boolean> {
    return respondsInTime(this.#redis, { keys: this.#stores.keys, clock: this.#clock, withinMs: 1_000 });
  }

  /** Converts an error thrown while the app was open: a Redis error becomes a message for operators. */
  static explained(thrown: unknown): unknown {
    return inWordsOfRedis(thrown);
  }

  /**
   * Closes everything in reverse order of opening.
   * @returns what failed to close, one line each
   */
  close(deadlineMs?: number): Promise<string[]> {
    return this.#lifecycle.stop(deadlineMs);
  }
}

/** A user of a container may have no home folder, for which Node.js throws, or an empty one. */
function cacheHome(dataDir: string): string {
  try {
    const home = homedir();
    if (isAbsolute(home)) return join(home, ".cache");
  } catch {
    // As without one.
  }
  return join(dataDir, "cache");
}

// Where the app connects to Redis, from the configuration.

/** The configured servers, or the folder of the embedded one. The passwords leave their Secrets here. */
function redisTargetOf({ redis, dataDir }: Config): RemoteTarget | { readonly dataDir: string } {
  if (redis === undefined) return { dataDir };
  const { topology, addresses, primary = "", username, database, tls, sentinelUsername } = redis;
  const login = {
    username,
    password: redis.password?.reveal(),
    tls: tls === undefined ? undefined : { ca: tls.ca, cert: tls.cert, key: tls.key?.reveal() },
  };
  const [server] = addresses;
  if (topology === "cluster" || server === undefined) return { nodes: addresses, ...login };
  if (topology === "server") return { ...server, ...login, database };
  const sentinelPassword = redis.sentinelPassword?.reveal();
  return { sentinels: addresses, primary, ...login, database, sentinelUsername, sentinelPassword };
}

// Starts tracing in a process whose configuration asks for it.

/** Loads OpenTelemetry. Closing the app sends the remaining spans last. */
async function startTracing({ tracing }: Pick<Config, "tracing">, lifecycle: Lifecycle): Promise<void> {
  if (tracing === undefined) return;
  const telemetry = await import("#telemetry/tracing.ts");
  const stop = telemetry.startTracing({ ...tracing, instance: `${hostname()}-${process.pid}` });
  lifecycle.onStop("traces", stop);
}

// The part of the composition root that builds the service of runs.

function openRuns(deps: {
  readonly config: Config;
  readonly clock: Clock;
  readonly redis: Redis;
  readonly stores: Stores;
  readonly queues: Queues;
  readonly sealInputs: SealInputs;
  readonly wordingOf: (profile: string) => Wording;
}): RunService {
  const { config, redis, stores } = deps;
  return new RunService({
    ...deps,
    ledger: stores.ledger,
    runRemoval: stores.runRemoval,
    inventory: stores.inventory,
    limiter: stores.limiter,
    workerRegistry: stores.workerRegistry,
    periodMs: config.limits.periodMs,
    policy: config.changes,
    speedClasses: config.deployment.speedClasses,
    operations: config.deployment.simOperations,
    memory: () => redisMemory(redis, stores.keys),
  });
}

// The part of the composition root that builds the retention of data and the report on Redis's memory.

interface AppDeps extends Pick<Stores, "storeDeps" | "ledger" | "runRemoval" | "inventory" | "syncs" | "feed"> {
  readonly config: Config;
  readonly clock: Clock;
  readonly runs: RunService;
  readonly rotationLog: RotationLog;
  readonly wordingOf: (profile: string) => Wording;
}

function openStorage(appDeps: AppDeps): StorageService {
  const { config, storeDeps, ledger, runRemoval, inventory, syncs, feed, clock, runs, rotationLog, wordingOf } =
    appDeps;
  return storageService({
    ...storeDeps,
    ledger,
    runRemoval,
    inventory,
    syncs,
    feed,
    clock,
    retention: config.retention,
    auditKeepMs: config.audit.keepMs,
    profiles: Object.keys(config.profiles),
    rotations: rotationLog,
    configuredRotations: Object.keys(config.rotations),
    keyColumnOf: (profile) => keyColumnOf(wordingOf(profile)),
    archiveOf: (run) => runs.archiveOf(run),
  });
}

/**
 * The kernel: what every feature builds on. It opens Redis and holds what all of them share: the configuration, the feed, the
 * limiter, the accounts of the profiles, and the order in which everything is closed. It knows no feature.
 */
import { homedir, hostname } from "node:os";
import { isAbsolute, join } from "node:path";
import type { Redis } from "ioredis";
import type { Account } from "#api/account.ts";
import type { Config } from "#config/config.ts";
import { SimfleetError } from "#core/errors.ts";
import { Lifecycle } from "#core/lifecycle.ts";
import { type Clock, systemClock } from "#core/time.ts";
import { version } from "#core/version.ts";
import { PoisonGuard } from "#engine/poison-guard.ts";
import { WorkerRegistry } from "#engine/queue/worker-registry.ts";
import type { Working } from "#engine/queue/job-result.ts";
import { Feed } from "#events/feed.ts";
import { FeedTail } from "#events/tail.ts";
import { type Wording, keyColumnOf } from "#fleet/sim/sim.ts";
import { Limiter } from "#limiter/limiter.ts";
import type { RedisConnections } from "#redis/connection.ts";
import { ensureDataVersion, openRedis } from "#redis/open.ts";
import { Keys } from "#redis/keys.ts";
import { inWordsOfRedis } from "#redis/refusal.ts";
import { ReplicatedWrites } from "#redis/replicated-writes.ts";
import type { RemoteTarget } from "#redis/target.ts";
import { respondsInTime } from "#redis/time.ts";
import { type RedisFacts, verifyRedis } from "#redis/verify.ts";
import type { Logger } from "#telemetry/logger.ts";
import { Accounts } from "./accounts.ts";
import type { AppFeature } from "./feature.ts";
import { AuthKeyUsers } from "#engine/authkey-users.ts";

/** Identifies simfleet to the platform and to the endpoints of webhooks. */
const userAgent = `simfleet/${version}`;

/** How a process is opened. */
export interface ProcessDeps {
  readonly logger: Logger;
  readonly env: NodeJS.ProcessEnv;
  readonly clock?: Clock;
  /** Declarations that some features list. */
  readonly features: readonly Pick<AppFeature, "name" | "audit" | "data" | "profileData">[];
}

/** Stores take it for `redis`, `keys` and `bounds`, queues for `connect`, `keys`, `workerRegistry` and `clock`. */
export type Kernel = Readonly<ReturnType<typeof build>>;

/**
 * Opens Redis (an embedded one if none is configured) and what features build on.
 * @throws SimfleetError STORE_UNAVAILABLE
 */
export async function openKernel(
  config: Config,
  { logger, env, features, clock = systemClock }: ProcessDeps,
): Promise<Kernel> {
  const lifecycle = new Lifecycle(clock);
  try {
    await startTracing(config, lifecycle);
    const connections = await openRedis(redisTargetOf(config), {
      clock,
      lifecycle,
      cacheDir: join(env.XDG_CACHE_HOME || cacheHome(config.dataDir), "simfleet"),
      path: env.PATH ?? "/usr/bin:/bin",
      env,
      onError: (error) => logger.debug({ error }, "Redis"),
    });
    const redisFacts = await verifyRedis(connections, clock);
    await openData(connections);
    return build({ config, logger, env, features, clock, lifecycle, connections, redisFacts });
  } catch (thrown) {
    await lifecycle.stop(5_000);
    throw thrown;
  }
}

function build(
  deps: Required<ProcessDeps> & {
    readonly config: Config;
    readonly lifecycle: Lifecycle;
    readonly connections: RedisConnections;
    readonly redisFacts: RedisFacts;
  },
) {
  const { config, clock, logger, lifecycle, connections, redisFacts } = deps;
  const connect = (name: string): Redis => connections.connect(name);
  const redis = connect("main");
  const keys = new Keys();
  const stores = { redis, keys, bounds: config.events, clock };
  const workerRegistry = new WorkerRegistry(stores);
  const guard = new PoisonGuard({ ...stores, workerRegistry, onQuarantined: (message) => logger.error(message) });
  lifecycle.onStop("marks of work", () => guard.close());
  const { periodMs, reserve } = config.limits;
  const limiter = new Limiter({ ...stores, periodMs, reserve });
  const feed = new Feed(stores);
  const tail = new FeedTail({ feed, connect: () => connect("tail"), clock });
  lifecycle.onStop("followers of the feed", () => tail.close());
  const users = new AuthKeyUsers(stores);
  const accounts = new Accounts({ redis, keys, config, clock, limiter, feed, users, lifecycle, logger, userAgent });
  const account = (profile: string): Account => accounts.account(profile);
  const wordingOf = (profile: string): Wording => config.profiles[profile]?.profile.wording ?? "sims";
  return {
    ...stores,
    connect,
    workerRegistry,
    config,
    /** Declarations of this process's features. */
    features: deps.features,
    logger,
    env: deps.env,
    userAgent,
    /** Version and abilities of Redis. */
    redisFacts,
    /** Location of the data, for display. */
    redisPlace: config.redis?.address ?? `embedded, in ${join(config.dataDir, "redis")}`,
    /** Undefined where Redis acknowledges nothing beyond its reply. */
    replicated: replicatedWrites(connections, redisFacts),
    feed,
    /** The live end of the feed: one reader for all followers. */
    tail,
    limiter,
    guard,
    lifecycle,
    accounts,
    /** Processes and the AuthKeys that they use. */
    users,
    /** The account of a profile, created on first use. @throws ConfigError if the profile lacks credentials or an address */
    account,
    /** The client of a profile, as `account`. */
    client: (profile: string) => account(profile).client,
    /** @throws SimfleetError CONFIG_INVALID if the profile may use two addresses; the work itself shows other faults */
    assertAddress: (profile: string) => assertAddress(account(profile)),
    /** The profile that a request names, else the configuration's. @throws SimfleetError NOT_FOUND */
    profileOf: (named?: string) => profileOf(config, named),
    wordingOf,
    keyColumnOf: (profile: string) => keyColumnOf(wordingOf(profile)),
    /** Stops work when the app closes. @returns the same work; its owner may stop it earlier */
    watchOver: (name: string, working: Working) => watchOver(lifecycle, name, working),
    /** Whether Redis responds within a second. @throws SimfleetError STORE_UNAVAILABLE if it rejects writes */
    ping: () => respondsInTime(redis, { keys, clock, withinMs: 1_000 }),
  };
}

async function assertAddress({ client }: Account): Promise<void> {
  try {
    await client.assertAddress();
  } catch (thrown) {
    if (thrown instanceof SimfleetError && thrown.code === "CONFIG_INVALID") throw thrown;
  }
}

function profileOf(config: Config, named: string | undefined): string {
  if (named === undefined) return config.profile;
  if (Object.hasOwn(config.profiles, named)) return named;
  const known = Object.keys(config.profiles).join(", ");
  throw new SimfleetError("NOT_FOUND", `There is no profile ${named}; known: ${known}`);
}

function watchOver(lifecycle: Lifecycle, name: string, working: Working): Working {
  let isStopped = false;
  const stop = async (): Promise<void> => {
    if (isStopped) return;
    isStopped = true;
    await working.stop();
  };
  lifecycle.onStop(name, stop);
  return { isMoving: (withinMs) => working.isMoving(withinMs), restart: () => working.restart(), stop };
}

/** @throws SimfleetError STORE_UNAVAILABLE if this version cannot read the data in Redis */
async function openData(connections: RedisConnections): Promise<void> {
  const redis = connections.connect("data-version");
  try {
    await ensureDataVersion(redis, new Keys());
  } catch (thrown) {
    throw inWordsOfRedis(thrown);
  } finally {
    redis.disconnect();
  }
}

function replicatedWrites(connections: RedisConnections, facts: RedisFacts): ReplicatedWrites | undefined {
  const needed = { ofReplica: facts.hasReplicas, ofFile: facts.acknowledgesFile };
  if (!needed.ofReplica && !needed.ofFile) return undefined;
  return new ReplicatedWrites(() => connections.connect("replicated"), needed);
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

/** The configured servers, or the folder of the embedded one. The passwords leave their Secrets here. */
function redisTargetOf({ redis, dataDir }: Config): RemoteTarget | { readonly dataDir: string } {
  if (redis === undefined) return { dataDir };
  const { password, sentinelPassword, tls } = redis;
  return {
    ...redis,
    password: password?.reveal(),
    sentinelPassword: sentinelPassword?.reveal(),
    tls: tls && { ...tls, key: tls.key?.reveal() },
  };
}

/** Loads OpenTelemetry in a process whose configuration asks for it. Closing the app sends the remaining spans last. */
async function startTracing({ tracing }: Pick<Config, "tracing">, lifecycle: Lifecycle): Promise<void> {
  if (tracing === undefined) return;
  const telemetry = await import("#telemetry/tracing.ts");
  const stop = telemetry.startTracing({ ...tracing, instance: `${hostname()}-${process.pid}` });
  lifecycle.onStop("traces", stop);
}

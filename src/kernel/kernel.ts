/**
 * The kernel: what every feature builds on. It opens Redis and holds what all of them share: the configuration, the
 * feed, the limiter, the accounts of the profiles, and the order in which everything is closed. It knows no feature.
 */
import { hostname } from "node:os";
import { isAbsolute, join } from "node:path";
import type { Redis } from "ioredis";
import type { Account } from "#api/account.ts";
import type { Config } from "#config/config.ts";
import { type Section, sectionOf } from "#config/feature-section.ts";
import { homeOfUser } from "#config/load.ts";
import { freezesSection } from "#config/sections/freezes.ts";
import { SimfleetError } from "#core/errors.ts";
import { Lifecycle } from "#core/process/lifecycle.ts";
import { type Clock, systemClock } from "#core/time.ts";
import { version } from "#core/version.ts";
import { poisonGuard } from "#engine/poison-guard.ts";
import { openWorkerRegistry } from "#engine/queue/worker-registry.ts";
import type { EventFacts } from "#events/event.ts";
import { Feed } from "#events/feed.ts";
import { feedTail } from "#events/tail.ts";
import { type Wording, keyColumnOf } from "#fleet/sim/sim.ts";
import { Limiter } from "#limiter/limiter.ts";
import { type RedisConnections, redisConnections, type RedisTarget } from "#redis/connection.ts";
import { Keys } from "#redis/keys.ts";
import { inWordsOfRedis, respondsInTime } from "#redis/node.ts";
import { replicatedWrites } from "#redis/replicated-writes.ts";
import { type RedisFacts, verifyRedis } from "#redis/verify.ts";
import type { Logger } from "#telemetry/logger.ts";
import { openAccounts } from "./accounts.ts";
import { openFreezes } from "#engine/freezes.ts";
import { authKeyUsers } from "#engine/authkey-users.ts";
import { attachRedis } from "#redis/embedded/embedded.ts";

/** Identifies simfleet to the platform and to the endpoints of webhooks. */
const userAgent = `simfleet/${version}`;

export interface ProcessDeps {
  readonly logger: Logger;
  readonly env: NodeJS.ProcessEnv;
  readonly features: readonly Declared[];
}

/** Facts of one feature, for features that list all. */
export interface Declared {
  readonly name: string;
  /** Loads its section when a configuration is read, so that `--help`, which reads none, does not load zod. */
  readonly section?: () => Promise<Section>;
  /** Events that it emits, with their fields. */
  readonly events?: Readonly<Record<string, EventFacts>>;
  /** The kind under which the audit log has what its routes and commands change; absent: `other`. */
  readonly audit?: string;
  /** Kinds of data in the report on storage, each with the first words of its keys. Other keys have theirs as kind. */
  readonly data?: Readonly<Record<string, readonly string[]>>;
  /** Days for which its data is kept, by kind, for the report on storage. @param section its own, as it was read */
  readonly kept?: (config: Config, section: never) => Readonly<Record<string, number>>;
  /** First words of keys whose second is a profile: they are removed with the profile. */
  readonly profileData?: readonly string[];
}

/** Stores use `redis`, `keys`, `bounds` of it, queues `connect`, `keys`, `workerRegistry`, `clock` and `lifecycle`. */
export type Kernel = Readonly<ReturnType<typeof build>>;

/**
 * Opens Redis (an embedded one if none is configured) and what features build on.
 * @throws SimfleetError STORE_UNAVAILABLE
 */
export async function openKernel(config: Config, { logger, env, features }: ProcessDeps): Promise<Kernel> {
  const lifecycle = new Lifecycle();
  try {
    await startTracing(config, lifecycle);
    const target = await openRedisTarget(config, env, lifecycle);
    const connections = redisConnections(target, (error) => logger.debug({ error }, "Redis"));
    lifecycle.onStop("Redis connections", () => connections.close());
    const redisFacts = await verifyRedis(connections);
    const redis = connections.connect("main");
    await assertDataVersion(redis);
    return build({ config, logger, env, features, lifecycle, connections, redis, redisFacts });
  } catch (thrown) {
    await lifecycle.stop(5_000);
    throw thrown;
  }
}

function build(
  deps: ProcessDeps & {
    readonly config: Config;
    readonly lifecycle: Lifecycle;
    readonly connections: RedisConnections;
    readonly redis: Redis;
    readonly redisFacts: RedisFacts;
  },
) {
  const { config, logger, lifecycle, connections, redis, redisFacts } = deps;
  const clock: Clock = systemClock;
  const connect = (name: string): Redis => connections.connect(name);
  const keys = new Keys();
  const stores = { redis, keys, bounds: config.events, clock };
  const workerRegistry = openWorkerRegistry(stores);
  const guard = poisonGuard({ ...stores, workerRegistry, onQuarantined: (message) => logger.error(message) });
  lifecycle.onStop("marks of work", () => guard.close());
  const { hasReplicas, acknowledgesFile } = redisFacts;
  const { periodMs, reserve } = config.limits;
  const limiter = new Limiter({ ...stores, periodMs, reserve });
  const feed = new Feed(stores);
  const tail = feedTail({ feed, connect: () => connect("tail"), clock });
  lifecycle.onStop("followers of the feed", () => tail.close());
  const users = authKeyUsers(stores);
  const accounts = openAccounts({ redis, keys, config, clock, limiter, feed, users, lifecycle, logger, userAgent });
  const account = (profile: string): Account => accounts.of(profile).account;
  const wordingOf = (profile: string): Wording => config.profiles[profile]?.profile.wording ?? "sims";
  return {
    ...stores,
    connect,
    workerRegistry,
    config,
    /** Declarations of this process's features. */
    features: deps.features,
    /** Days for which features keep their data, by kind. */
    keptDays: () => keptDays(config, deps.features),
    logger,
    env: deps.env,
    userAgent,
    /** Version and abilities of Redis. */
    redisFacts,
    /** Location of the data, for display. */
    redisPlace: config.redis?.address ?? `embedded, in ${join(config.dataDir, "redis")}`,
    /** Undefined where Redis acknowledges nothing beyond its reply. */
    replicated: hasReplicas || acknowledgesFile ? replicatedWrites(() => connect("replicated"), redisFacts) : undefined,
    feed,
    /** The live end of the feed: one reader for all followers. */
    tail,
    limiter,
    guard,
    freezes: openFreezes({ ...stores, periods: sectionOf(config, freezesSection) }),
    lifecycle,
    accounts,
    /** Processes and the AuthKeys that they use. */
    users,
    /** The account of a profile, created on first use. @throws ConfigError if it lacks credentials or an address */
    account,
    /** The client of a profile, as `account`. */
    client: (profile: string) => account(profile).client,
    /** @throws SimfleetError CONFIG_INVALID if the profile may use two addresses; the work itself shows other faults */
    assertAddress: (profile: string) => assertAddress(account(profile)),
    /** The profile that a request names, else the configuration's. @throws SimfleetError NOT_FOUND */
    profileOf: (named?: string) => requireProfile(config, named),
    wordingOf,
    keyColumnOf: (profile: string) => keyColumnOf(wordingOf(profile)),
    /** Whether Redis responds within a second. @throws SimfleetError STORE_UNAVAILABLE if it rejects writes */
    ping: () => respondsInTime(redis, keys),
  };
}

async function keptDays(config: Config, features: readonly Declared[]): Promise<Record<string, number>> {
  const days = features.map(async ({ kept, section }) => {
    const own = section && sectionOf(config, await section());
    return Object.entries(kept?.(config, own as never) ?? {});
  });
  return Object.fromEntries((await Promise.all(days)).flat());
}

async function assertAddress({ client }: Account): Promise<void> {
  try {
    await client.assertAddress();
  } catch (thrown) {
    if (thrown instanceof SimfleetError && thrown.code === "CONFIG_INVALID") throw thrown;
  }
}

function requireProfile(config: Config, named: string | undefined): string {
  if (named === undefined) return config.profile;
  if (Object.hasOwn(config.profiles, named)) return named;
  const known = Object.keys(config.profiles).join(", ");
  throw new SimfleetError("NOT_FOUND", `There is no profile ${named}; known: ${known}`);
}

/** The version of what is stored in Redis. */
const dataVersion = 7;

/** @throws SimfleetError STORE_UNAVAILABLE for data of another version, which this one would misread */
async function assertDataVersion(redis: Redis): Promise<void> {
  const key = new Keys().dataVersion();
  let found: string | null;
  try {
    // Only the first process writes: commands that read work on a Redis that is full.
    found = await redis.get(key);
    if (found === null) {
      await redis.setnx(key, dataVersion);
      found = await redis.get(key);
    }
  } catch (thrown) {
    throw inWordsOfRedis(thrown);
  }
  if (Number(found) === dataVersion) return;
  const [age, fix] =
    Number(found) > dataVersion
      ? ["a newer", "upgrade this simfleet"]
      : ["an older", "use an empty Redis or data directory"];
  const versions = `data version ${found}; this one reads ${dataVersion}`;
  throw new SimfleetError(
    "STORE_UNAVAILABLE",
    `The data in Redis was written by ${age} simfleet (${versions}): ${fix}`,
  );
}

/**
 * The configured servers, or an embedded one. The passwords leave their Secrets here.
 * @throws SimfleetError STORE_UNAVAILABLE if the embedded server cannot be started
 */
async function openRedisTarget(
  { redis, dataDir }: Config,
  env: NodeJS.ProcessEnv,
  lifecycle: Lifecycle,
): Promise<RedisTarget> {
  if (redis === undefined) {
    const home = homeOfUser();
    const caches = env.XDG_CACHE_HOME || (isAbsolute(home) ? join(home, ".cache") : join(dataDir, "cache"));
    const cacheDir = join(caches, "simfleet");
    const embedded = await attachRedis({ dataDir, cacheDir, path: env.PATH ?? "/usr/bin:/bin", env });
    lifecycle.onStop("embedded Redis", () => embedded.close());
    return embedded;
  }
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

/**
 * The hall: builds every room from the configuration and knows the order in which they open and close. It decides
 * nothing; commands and the worker open it, use the rooms and close it.
 */
import { readFileSync } from "node:fs";
import { homedir, hostname } from "node:os";
import { join } from "node:path";
import { PlatformClient } from "#api/client.ts";
import type { Config } from "#config/config.ts";
import { requirePlatform } from "#config/config.ts";
import { Lifecycle } from "#core/lifecycle.ts";
import { type Clock, systemClock } from "#core/time.ts";
import { keepYoungGenerationSmall, letYoungGenerationGrow } from "#core/young-generation.ts";
import { Feed } from "#events/feed.ts";
import { keptFields, secretFields } from "#fleet/sim-fields.ts";
import { type Wording, keyColumnOf } from "#fleet/sim.ts";
import { speedClassBucket } from "#jobs/change-speed-class.ts";
import { execute } from "#jobs/execute.ts";
import type { SegmentReference, SyncVerdict, Verdict } from "#jobs/job.ts";
import type { Account } from "#jobs/account.ts";
import { syncInventory } from "#jobs/sync-inventory.ts";
import { RunWatch } from "#jobs/run-watch.ts";
import { Backlog } from "#jobs/settler.ts";
import type { Redis } from "ioredis";
import { Limiter } from "#limiter/limiter.ts";
import { Consumer, type Trouble, type Working } from "#queue/consumer.ts";
import { Presence } from "#queue/presence.ts";
import { Queues } from "#queue/queues.ts";
import { SyncQueues } from "#queue/syncs.ts";
import { type RedisConnections, type RedisFacts, verifyRedis } from "#redis/connection.ts";
import { Keys } from "#redis/keys.ts";
import { inWordsOfRedis } from "#redis/refusal.ts";
import { openRedis } from "#redis/open.ts";
import type { CredentialDesk } from "#runs/credential-desk.ts";
import { RunDesk } from "#runs/desk.ts";
import { SimDesk } from "#runs/sim-desk.ts";
import { newSyncId } from "#runs/sync-report.ts";
import { Inventory } from "#store/inventory.ts";
import { Ledger } from "#store/ledger.ts";
import { SyncLog, isSyncOver } from "#store/sync-log.ts";
import type { Logger } from "#telemetry/logger.ts";
import { Rotations } from "./app-rotations.ts";

/** Segments that one process has under way at once; each has several calls in flight. */
const segmentsAtOnce = 4;

export const version = (
  JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as { version: string }
).version;

export type { Working } from "#queue/consumer.ts";

export class App {
  readonly config: Config;
  readonly ledger: Ledger;
  readonly inventory: Inventory;
  readonly limiter: Limiter;
  readonly desk: RunDesk;
  readonly sims: SimDesk;
  readonly credentials: CredentialDesk;
  readonly feed: Feed;
  readonly presence: Presence;
  readonly redisFacts: RedisFacts;
  /** Where the data lies, for people. */
  readonly redisPlace: string;
  readonly #clock: Clock;
  readonly #keys: Keys;
  readonly #redis: Redis;
  readonly #connections: RedisConnections;
  readonly #queues: Queues;
  readonly #lifecycle: Lifecycle;
  readonly #logger: Logger;
  readonly #syncs: SyncLog;
  readonly #syncQueues: SyncQueues;
  readonly #rotations: Rotations;
  readonly #accounts = new Map<string, Account>();
  readonly #working = new Set<Working>();
  /** Of runs; there were so many, which is all that matters. */
  #consumers = 0;
  readonly #backlog = new Backlog();
  readonly #watch: RunWatch;

  private constructor(parts: {
    config: Config;
    clock: Clock;
    connections: RedisConnections;
    redisFacts: RedisFacts;
    redisPlace: string;
    lifecycle: Lifecycle;
    logger: Logger;
    env: NodeJS.ProcessEnv;
  }) {
    this.config = parts.config;
    this.redisFacts = parts.redisFacts;
    this.redisPlace = parts.redisPlace;
    this.#clock = parts.clock;
    this.#connections = parts.connections;
    this.#lifecycle = parts.lifecycle;
    this.#logger = parts.logger;
    this.#keys = new Keys();
    const redis = parts.connections.connect("main");
    this.#redis = redis;
    const { periodMs, reserve } = parts.config.limits;
    this.limiter = new Limiter({ redis, keys: this.#keys, periodMs, reserve, clock: parts.clock });
    const terms = { redis, keys: this.#keys, bounds: parts.config.events };
    this.feed = new Feed({ ...terms, clock: parts.clock });
    this.ledger = new Ledger({ ...terms, clock: parts.clock });
    this.#watch = new RunWatch({ ledger: this.ledger });
    this.inventory = new Inventory(terms);
    this.#syncs = new SyncLog(terms);
    this.presence = new Presence({ redis, keys: this.#keys });
    const connect = (name: string): Redis => parts.connections.connect(name);
    this.#queues = new Queues({ connect, keys: this.#keys, ledger: this.ledger });
    parts.lifecycle.onStop("queues", () => this.#queues.close());
    this.desk = new RunDesk({
      ledger: this.ledger,
      inventory: this.inventory,
      queues: this.#queues,
      limiter: this.limiter,
      presence: this.presence,
      clock: parts.clock,
      periodMs,
    });
    const queueHouse = { connect, keys: this.#keys, presence: this.presence, clock: parts.clock };
    this.#syncQueues = new SyncQueues(queueHouse);
    parts.lifecycle.onStop("sync queues", () => this.#syncQueues.close());
    this.sims = new SimDesk({
      inventory: this.inventory,
      syncs: this.#syncs,
      syncQueues: this.#syncQueues,
      feed: this.feed,
      wordingOf: (profile) => this.wordingOf(profile),
    });
    this.#rotations = new Rotations({
      ...{ ...parts, redis, queueHouse, userAgent: `simfleet/${version}` },
      clientOf: (profile) => this.client(profile),
    });
    this.credentials = this.#rotations.desk;
  }

  /**
   * Opens Redis (its own where none is configured) and builds the rooms on it.
   * @throws SimfleetError STORE_UNAVAILABLE
   */
  static async open(config: Config, house: { logger: Logger; env: NodeJS.ProcessEnv; clock?: Clock }): Promise<App> {
    const clock = house.clock ?? systemClock;
    const lifecycle = new Lifecycle(clock);
    try {
      const { redis } = config;
      const place = redis === undefined ? config : { url: redis.url, password: redis.password?.reveal() };
      const connections = await openRedis(place, {
        ...{ clock, lifecycle },
        cacheDir: join(house.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "simfleet"),
        path: house.env.PATH ?? "/usr/bin:/bin",
        onError: (error) => house.logger.debug({ error }, "Redis"),
      });
      const probe = connections.connect("probe");
      const redisFacts = await verifyRedis(probe, clock);
      probe.disconnect();
      const redisPlace = config.redis?.url ?? `embedded, in ${join(config.dataDir, "redis")}`;
      const { logger, env } = house;
      return new App({ config, clock, connections, redisFacts, redisPlace, lifecycle, logger, env });
    } catch (thrown) {
      await lifecycle.stop(5_000);
      throw thrown;
    }
  }

  /** The bucket, and with it the queue, that a profile's speed-class changes go through. */
  bucketOf(profile: string): string {
    return speedClassBucket(profile, this.wordingOf(profile));
  }

  /**
   * The client of a profile, made at its first use.
   * @throws ConfigError when the profile lacks credentials or an address
   */
  client(profile: string): PlatformClient {
    return this.#account(profile).client;
  }

  #account(profile: string): Account {
    let account = this.#accounts.get(profile);
    if (account === undefined) {
      const { inventory, deployment } = this.config;
      const wording = this.wordingOf(profile);
      const client = this.#makeClient(profile);
      account = {
        client,
        wording,
        choice: {
          fields: keptFields(inventory.fields, keyColumnOf(wording)),
          secrets: new Set([...secretFields, ...inventory.secrets]),
          places: { ...deployment.recordPaths },
        },
        pageLimit: inventory.limit,
      };
      this.#accounts.set(profile, account);
      this.#lifecycle.onStop(`client of ${profile}`, () => client.close());
    }
    return account;
  }

  #makeClient(profile: string): PlatformClient {
    const { config } = this;
    const access = requirePlatform(config, profile);
    const { profile: terms, language } = config.profiles[profile] ?? {};
    if (terms === undefined || language === undefined) throw new Error(`profile ${profile} vanished`);
    const log = this.#logger.child({ profile });
    return new PlatformClient({
      profile: terms,
      brand: config.deployment.brand,
      language,
      endpoints: config.deployment.endpoints,
      ttlField: config.deployment.ttlField,
      ttlSeconds: config.tokenTtlMs === undefined ? undefined : config.tokenTtlMs / 1_000,
      credentials: access.credentials,
      tokenVerification: config.tokenKey,
      periodMs: config.limits.periodMs,
      connections: config.limits.connections,
      clock: this.#clock,
      permits: this.limiter,
      userAgent: `simfleet/${version}`,
      // Hosts may share an address, and then each learns of the others from the answers.
      egress: hostname().replace(/[^A-Za-z0-9_-]/g, "-"),
      onEvent: (event) => {
        if (event.type === "throttled") log.warn(event, "the platform answered 429");
        else if (event.type === "renewal-failed") log.warn(event, "authentication failed");
        else if (event.type === "renewed") log.debug(event, "authenticated");
      },
    });
  }

  wordingOf(profile: string): Wording {
    return this.config.profiles[profile]?.profile.wording ?? "sims";
  }

  /** Works on a bucket's queue until it is stopped. */
  async consume(profile: string, onTrouble: (trouble: Trouble) => void): Promise<Working> {
    letYoungGenerationGrow();
    const consumer = await Consumer.start({
      bucket: this.bucketOf(profile),
      connect: (name) => this.#connections.connect(name),
      keys: this.#keys,
      queues: this.#queues,
      ledger: this.ledger,
      presence: this.presence,
      clock: this.#clock,
      segmentsAtOnce,
      onTrouble,
      execute: (reference, signal) => this.#execute(reference, signal),
    });
    this.#consumers += 1;
    return this.#watchOver(`consumer of ${profile}`, consumer);
  }

  /** Works on a profile's syncs until it is stopped. */
  async consumeSyncs(profile: string, onTrouble: (trouble: Trouble) => void): Promise<Working> {
    const working = await this.#syncQueues.consume(profile, {
      onTrouble,
      sync: (name, signal) => this.#sync(name, signal),
      isUnderWay: async (name) => {
        const state = await this.#syncs.state(name);
        return state !== undefined && !isSyncOver(state);
      },
    });
    return this.#watchOver(`syncs of ${profile}`, working);
  }

  /** Works on a profile's rotations until it is stopped. @throws ConfigError where no key seals secrets */
  async consumeRotations(profile: string, onTrouble: (trouble: Trouble) => void): Promise<Working> {
    return this.#watchOver(`rotations of ${profile}`, await this.#rotations.consume(profile, onTrouble));
  }

  /** Whoever started it may stop it; at the end of the house it stops in any case. */
  #watchOver(name: string, working: Working): Working {
    const stop = async (): Promise<void> => {
      if (this.#working.delete(working)) await working.stop();
    };
    this.#working.add(working);
    this.#lifecycle.onStop(name, stop);
    return { isMoving: (withinMs) => working.isMoving(withinMs), stop };
  }

  #execute(reference: SegmentReference, signal: AbortSignal): Promise<Verdict> {
    const context = {
      ledger: this.ledger,
      inventory: this.inventory,
      clock: this.#clock,
      lanes: this.config.limits.connections,
      backlog: this.#backlog,
      watch: this.#watch,
      accountFor: (profile: string) => this.#account(profile),
    };
    return execute(reference, context, signal);
  }

  async #sync(profile: string, signal: AbortSignal): Promise<SyncVerdict> {
    const context = {
      syncs: this.#syncs,
      inventory: this.inventory,
      clock: this.#clock,
      accountFor: (name: string) => this.#account(name),
      newSyncId: () => newSyncId(this.#clock.wallMs()),
    };
    keepYoungGenerationSmall();
    try {
      const verdict = await syncInventory(profile, context, signal);
      if (verdict.kind === "ended") await this.feed.trim();
      return verdict;
    } finally {
      if (this.#consumers > 0) letYoungGenerationGrow();
    }
  }

  /** Whether Redis answers within a second. */
  async ping(): Promise<boolean> {
    const late = new AbortController();
    try {
      return await Promise.race([
        this.#redis.ping().then(() => true),
        this.#clock.sleep(1_000, late.signal).then(() => false),
      ]);
    } catch {
      return false;
    } finally {
      late.abort();
    }
  }

  /** What was thrown while the house was open, with a refusal of Redis in words for an operator. */
  static explained(thrown: unknown): unknown {
    return inWordsOfRedis(thrown);
  }

  /**
   * Closes everything in the reverse order of its opening.
   * @returns what did not close well, one line each
   */
  close(deadlineMs?: number): Promise<string[]> {
    return this.#lifecycle.stop(deadlineMs);
  }
}

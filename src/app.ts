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
import type { Wording } from "#fleet/sim.ts";
import { speedClassBucket } from "#jobs/change-speed-class.ts";
import { execute } from "#jobs/execute.ts";
import type { SegmentReference, Verdict } from "#jobs/job.ts";
import { syncInventory } from "#jobs/sync-inventory.ts";
import { RunWatch } from "#jobs/run-watch.ts";
import { Backlog } from "#jobs/settler.ts";
import type { Redis } from "ioredis";
import { Limiter } from "#limiter/limiter.ts";
import { Consumer, type Trouble } from "#queue/consumer.ts";
import { Presence } from "#queue/presence.ts";
import { Queues } from "#queue/queues.ts";
import { type RedisConnections, type RedisFacts, verifyRedis } from "#redis/connection.ts";
import { Keys } from "#redis/keys.ts";
import { inWordsOfRedis } from "#redis/refusal.ts";
import { openRedis } from "#redis/open.ts";
import { RunDesk } from "#runs/desk.ts";
import { Inventory, type SyncState } from "#store/inventory.ts";
import { Ledger } from "#store/ledger.ts";
import type { Logger } from "#telemetry/logger.ts";

/** Segments that one process has under way at once; each has several calls in flight. */
const segmentsAtOnce = 4;

export const version = (
  JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as { version: string }
).version;

/** Work on a queue that can be watched and stopped. */
export type Working = Pick<Consumer, "stop" | "isMoving">;

export class App {
  readonly config: Config;
  readonly ledger: Ledger;
  readonly inventory: Inventory;
  readonly limiter: Limiter;
  readonly desk: RunDesk;
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
  readonly #clients = new Map<string, PlatformClient>();
  readonly #consumers = new Set<Consumer>();
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
    this.ledger = new Ledger({ redis, keys: this.#keys, clock: parts.clock });
    this.#watch = new RunWatch({ ledger: this.ledger });
    this.inventory = new Inventory({ redis, keys: this.#keys, clock: parts.clock });
    this.presence = new Presence({ redis, keys: this.#keys });
    this.#queues = new Queues({
      connect: (name) => parts.connections.connect(name),
      keys: this.#keys,
      ledger: this.ledger,
    });
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
      return new App({ config, clock, connections, redisFacts, redisPlace, lifecycle, logger: house.logger });
    } catch (thrown) {
      await lifecycle.stop(5_000);
      throw thrown;
    }
  }

  /** The bucket, and with it the queue, that a profile's speed-class changes go through. */
  bucketOf(profile: string): string {
    return speedClassBucket(profile, this.#wording(profile));
  }

  /**
   * The client of a profile, made at its first use.
   * @throws ConfigError when the profile lacks credentials or an address
   */
  client(profile: string): PlatformClient {
    let client = this.#clients.get(profile);
    if (client === undefined) {
      client = this.#makeClient(profile);
      this.#clients.set(profile, client);
      const made = client;
      this.#lifecycle.onStop(`client of ${profile}`, () => made.close());
    }
    return client;
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

  #wording(profile: string): Wording {
    return this.config.profiles[profile]?.profile.wording ?? "sims";
  }

  /** Works on a bucket's queue until it is stopped. */
  async consume(profile: string, onTrouble: (trouble: Trouble) => void): Promise<Working> {
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
    this.#consumers.add(consumer);
    this.#lifecycle.onStop(`consumer of ${profile}`, () => this.#stopConsumer(consumer));
    return consumer;
  }

  async #stopConsumer(consumer: Consumer): Promise<void> {
    if (this.#consumers.delete(consumer)) await consumer.stop();
  }

  #execute(reference: SegmentReference, signal: AbortSignal): Promise<Verdict> {
    const context = {
      ledger: this.ledger,
      clock: this.#clock,
      lanes: this.config.limits.connections,
      backlog: this.#backlog,
      watch: this.#watch,
      clientFor: (profile: string) => ({ client: this.client(profile), wording: this.#wording(profile) }),
    };
    return execute(reference, context, signal);
  }

  /** Reads a profile's fleet into the inventory. */
  syncInventory(profile: string, how: { signal: AbortSignal; onPage: (state: SyncState) => void }): Promise<SyncState> {
    const { inventory } = this;
    const clock = this.#clock;
    return syncInventory({
      ...{ profile, inventory, clock, ...how },
      client: this.client(profile),
      wording: this.#wording(profile),
    });
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

/**
 * Connections to Redis: to one server, to the primary that Sentinels name, or to a cluster. A lost connection is
 * retried forever and a failover is followed; commands wait in the meantime, and those in flight are sent again. So
 * every script and command must stand being repeated.
 */
import { isIP } from "node:net";
import type { SecureContextOptions } from "node:tls";
import { Cluster, Redis, type RedisOptions } from "ioredis";
import { systemClock } from "#core/time.ts";

type Options = RedisOptions & { replyMapping?: "legacy" };

/**
 * A server that went silent, with the network or its machine, closes no connection: after this time without a response
 * the connection is opened again, maybe to another server. Longer than any command blocks (10 s, in BullMQ).
 */
const silentMs = 15_000;
const firstAnswerMs = 2_000;
/** Until the old primary is a replica of the new one, which Sentinels see to after 8 s. */
const longestFailoverMs = 15_000;
/** Between two attempts while a failover is in progress. */
const failoverRetryMs = 100;
/** How often the nodes of a cluster are read, so that one that went silent is noticed. */
const slotsRefreshMs = 5_000;

export type RedisConnections = ReturnType<typeof redisConnections>;

export function redisConnections(target: RedisTarget, onError: (error: Error) => void = () => undefined) {
  const open = new Set<Redis>();
  let stopWatching: (() => void) | undefined;

  const openRedis = (options: Options): Redis => {
    const retryStrategy = (attempt: number): number => {
      if ("ensureRunning" in target) target.ensureRunning().catch((error: unknown) => onError(error as Error));
      return retryDelayMs(attempt);
    };
    return new Redis({ retryStrategy, ...toOptions(target), ...options });
  };

  return {
    target,

    /** Opens one more connection. */
    connect(name: string): Redis {
      const connectionName = `simfleet-${name}`;
      const options: Options = { connectionName, maxRetriesPerRequest: null, enableReadyCheck: true };
      const remote = "topology" in target ? target : undefined;
      if (remote?.topology === "sentinel") {
        // Each connection asks the Sentinels for the new primary, and sends it the commands in flight.
        stopWatching ??= watchFailovers(remote, { onSwitch: () => open.forEach(reconnect), onError });
      }
      const redis = remote?.topology === "cluster" ? openCluster(remote, options) : openRedis(options);
      redis.on("error", onError);
      open.add(redis);
      redis.once("end", () => open.delete(redis));
      return redis;
    },

    /** Closes every connection that was opened here. */
    async close(): Promise<void> {
      stopWatching?.();
      stopWatching = undefined;
      await Promise.all([...open].map((redis) => closeOne(redis)));
      open.clear();
    },
  };
}

/** Uses options only, since ioredis parses user names and passwords in URLs in its own way. */
function toOptions(target: RedisTarget): Options {
  const login = toLogin(target);
  if ("socketPath" in target) return { path: target.socketPath, ...login };
  const { topology, addresses, primary = "", database = 0, tls, sentinelUsername, sentinelPassword } = target;
  const common = { ...login, db: database, socketTimeout: silentMs };
  if (topology === "server") {
    const { host = "", port = 0 } = addresses[0] ?? {};
    const servername = isIP(host) === 0 ? { servername: host } : {};
    return { ...common, host, port, ...(tls && { tls: { ...tls, ...servername } }), reconnectOnError: isReplica };
  }
  return {
    ...common,
    sentinels: [...addresses],
    name: primary,
    ...(sentinelUsername === undefined ? {} : { sentinelUsername }),
    ...(sentinelPassword === undefined ? {} : { sentinelPassword }),
    ...(tls && { tls, sentinelTLS: tls, enableTLSForSentinelMode: true }),
    sentinelCommandTimeout: firstAnswerMs,
    ...whenRefused(),
  };
}

/**
 * For a server that was replaced, or is alone because its replica was just promoted: asks the Sentinels again, and
 * sends the command to the primary they name. One that stays without replicas is no failover, but a fault to report.
 */
function whenRefused(): Pick<Options, "reconnectOnError" | "retryStrategy"> {
  let aloneSinceMs: number | undefined;
  let aloneAtMs = Number.NEGATIVE_INFINITY;
  return {
    reconnectOnError: (error) => {
      if (!error.message.startsWith("NOREPLICAS ")) return isReplica(error) ? 2 : false;
      const nowMs = systemClock.monotonicMs();
      if (nowMs - aloneAtMs > longestFailoverMs) aloneSinceMs = nowMs;
      aloneAtMs = nowMs;
      return nowMs - (aloneSinceMs ?? nowMs) > longestFailoverMs ? false : 2;
    },
    retryStrategy: (attempt) => {
      const isAlone = systemClock.monotonicMs() - aloneAtMs < 1_000;
      return isAlone ? 500 : retryDelayMs(attempt);
    },
  };
}

function retryDelayMs(attempt: number): number {
  return Math.min(50 * attempt, 1_000);
}

/** A Cluster has the commands of a Redis; only this folder uses what differs, such as its nodes. */
function openCluster(target: RemoteTarget, options: Options): Redis {
  const { tls, addresses } = target;
  const cluster = new Cluster([...addresses], {
    redisOptions: { socketTimeout: silentMs, ...options, ...toLogin(target), ...(tls && { tls }) },
    clusterRetryStrategy: retryDelayMs,
    // Commands wait for the end of a failover, however long it takes.
    maxRedirections: Number.POSITIVE_INFINITY,
    retryDelayOnMoved: 20,
    retryDelayOnFailover: failoverRetryMs,
    retryDelayOnClusterDown: failoverRetryMs,
    slotsRefreshTimeout: firstAnswerMs,
    slotsRefreshInterval: slotsRefreshMs,
    // verifyRedis reports a cluster that is down; ioredis would only try again.
    enableReadyCheck: false,
    // Certificates are issued to names, which the default replaces by addresses.
    dnsLookup: (host, callback) => callback(null, host),
  });
  return cluster as unknown as Redis;
}

function toLogin({ username, password }: Partial<Pick<RemoteTarget, "username" | "password">>): Options {
  return { ...(username === undefined ? {} : { username }), ...(password === undefined ? {} : { password }) };
}

function isReplica({ message }: Error): boolean {
  return message.startsWith("READONLY ") || message.startsWith("UNBLOCKED ");
}

async function closeOne(redis: Redis): Promise<void> {
  if (redis.status === "ready") await redis.quit().catch(() => redis.disconnect());
  else redis.disconnect();
}

// Hears from every Sentinel that the primary has changed. A primary that was replaced but is alive, cut off or about to
// be demoted, keeps accepting writes for seconds, and all of them are lost: so connections to it are given up at once.
// Each Sentinel is heard, since one that does not know of the change yet still names the old primary.

const channel = "+switch-master";

/** Lets a connection ask the Sentinels again. Disconnected while it asks them, it would end for good. */
export function reconnect(redis: Pick<Redis, "status" | "disconnect" | "once">): void {
  if (redis.status === "ready" || redis.status === "connect") redis.disconnect(true);
  else redis.once("connect", () => redis.disconnect(true));
}

/** @returns stops it */
function watchFailovers(
  target: RemoteTarget,
  { onSwitch, onError }: { onSwitch: () => void; onError: (error: Error) => void },
): () => void {
  const { addresses, primary, tls, sentinelUsername: username, sentinelPassword: password } = target;
  const login = { ...toLogin({ username, password }), ...(tls && { tls }) };
  const watchers = addresses.map(({ host, port }) => {
    const redis = new Redis({
      host,
      port,
      ...login,
      connectionName: "simfleet-failovers",
      enableReadyCheck: false,
      maxRetriesPerRequest: null,
      retryStrategy: (attempt) => Math.min(100 * attempt, 5e3),
    });
    redis.on("error", onError);
    redis.on("message", (_: string, message: string) => {
      if (message.startsWith(`${primary} `)) onSwitch();
    });
    redis.subscribe(channel).catch(() => undefined); // closed before it was connected
    return redis;
  });
  return () => {
    for (const redis of watchers) redis.disconnect();
  };
}

// Where Redis is, and how to log in.

export interface RedisAddress {
  /** A host name or address; an IPv6 address without brackets. */
  readonly host: string;
  readonly port: number;
}

/** How Redis is run: one server, a primary that Sentinels name, or a cluster. */
export type Topology = "server" | "sentinel" | "cluster";

export interface RemoteTarget {
  readonly topology: Topology;
  /** The server; or the Sentinels; or some nodes of the cluster. */
  readonly addresses: readonly RedisAddress[];
  /** The name by which the Sentinels know the primary. */
  readonly primary?: string | undefined;
  readonly database?: number | undefined;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly sentinelUsername?: string | undefined;
  readonly sentinelPassword?: string | undefined;
  /** PEM texts; without `ca`, the certificate authorities built into Node.js are used. Absent: no encryption. */
  readonly tls?: Pick<SecureContextOptions, "ca" | "cert" | "key"> | undefined;
}

/** A server on a local socket; the embedded one is started again if it is gone. */
type LocalTarget = { readonly socketPath: string; readonly password?: string | undefined };

export type RedisTarget = RemoteTarget | LocalTarget | (LocalTarget & { readonly ensureRunning: () => Promise<void> });

export function topologyOf(target: RedisTarget): Topology {
  return "topology" in target ? target.topology : "server";
}

/** For messages: without a password. */
export function placeOf(target: RedisTarget): string {
  if (!("topology" in target)) return target.socketPath;
  const hosts = target.addresses.map(addressText).join(", ");
  return target.topology === "sentinel" ? `${target.primary} of the Sentinels ${hosts}` : hosts;
}

export function addressText({ host, port }: RedisAddress): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

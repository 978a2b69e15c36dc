/**
 * Connections to Redis, and the checks before the first use: reachable, recent enough, and configured to refuse writes when
 * full instead of evicting data. A lost connection is retried forever; commands wait for it in the meantime.
 */
import { isIP } from "node:net";
import { Redis, type RedisOptions } from "ioredis";
import { SimfleetError, messageOf } from "#core/errors.ts";
import { type Clock, systemClock } from "#core/time.ts";
import type { EmbeddedRedis } from "./embedded.ts";

const oldestVersion = [6, 2] as const;
const firstConnectionMs = 5_000;

/** PEM texts; without `ca`, the certificate authorities built into Node.js are used. */
export interface RedisTlsOptions {
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

/** A server on the network. */
export interface RedisServerTarget {
  /** A host name or address; an IPv6 address without brackets. */
  readonly host: string;
  readonly port: number;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  readonly database?: number | undefined;
  /** Absent: the connection is not encrypted. */
  readonly tls?: RedisTlsOptions | undefined;
}

/** The location of Redis: on the network, on a local socket, or embedded. */
export type RedisTarget =
  | RedisServerTarget
  | { readonly socketPath: string; readonly password?: string | undefined }
  | { readonly embedded: EmbeddedRedis };

export class RedisConnections {
  readonly #target: RedisTarget;
  readonly #open = new Set<Redis>();
  readonly #onError: (error: Error) => void = () => undefined;

  constructor(target: RedisTarget, onError?: (error: Error) => void) {
    this.#target = target;
    if (onError !== undefined) this.#onError = onError;
  }

  /** Opens one more connection; `overrides` are ioredis's own options. */
  connect(name: string, overrides: RedisOptions & { replyMapping?: "legacy" } = {}): Redis {
    const target = this.#target;
    const options: RedisOptions & { replyMapping?: "legacy" } = {
      connectionName: `simfleet-${name}`,
      maxRetriesPerRequest: null,
      enableReadyCheck: true,
      retryStrategy: (attempt: number) => {
        if ("embedded" in target)
          target.embedded.ensureRunning().catch((error: unknown) => this.#onError(error as Error));
        return Math.min(50 * attempt, 1_000);
      },
      ...placeOf(target),
      ...overrides,
    };
    const redis: Redis = new Redis(options);
    redis.on("error", (error: Error) => this.#onError(error));
    this.#open.add(redis);
    redis.once("end", () => this.#open.delete(redis));
    return redis;
  }

  /** Closes every connection that this object opened. */
  async close(): Promise<void> {
    await Promise.all([...this.#open].map((redis) => closeOne(redis)));
    this.#open.clear();
  }
}

/** Uses options only, since ioredis parses user names and passwords in URLs in its own way. */
function placeOf(target: RedisTarget) {
  if ("embedded" in target) return { path: target.embedded.socketPath };
  const { password } = target;
  const secret = password === undefined ? {} : { password };
  if ("socketPath" in target) return { path: target.socketPath, ...secret };
  const { host, port, username, database = 0, tls } = target;
  return {
    host,
    port,
    db: database,
    ...secret,
    ...(username === undefined ? {} : { username }),
    ...(tls === undefined ? {} : { tls: { ...tls, ...(isIP(host) === 0 ? { servername: host } : {}) } }),
  };
}

async function closeOne(redis: Redis): Promise<void> {
  if (redis.status === "ready") await redis.quit().catch(() => redis.disconnect());
  else redis.disconnect();
}

/** What `verifyRedis` found. */
export interface RedisFacts {
  readonly version: string;
  readonly maxmemoryPolicy: string;
}

/**
 * Checks that Redis is reachable and suitable.
 * @throws SimfleetError STORE_UNAVAILABLE with the fault and its fix
 */
export async function verifyRedis(redis: Redis, clock: Clock = systemClock): Promise<RedisFacts> {
  const where = addressOf(redis);
  let info: string;
  const waiting = new AbortController();
  try {
    info = await Promise.race([
      lastErrorInstead(redis, redis.info()),
      clock.sleep(firstConnectionMs, waiting.signal).then(() => Promise.reject(new Error("no answer within 5 s"))),
    ]);
  } catch (thrown) {
    throw new SimfleetError(
      "STORE_UNAVAILABLE",
      `Redis at ${where} cannot be used: ${messageOf(thrown).replace(/[.]$/, "")}. Is it up, and is SIMFLEET_REDIS_URL right?`,
      { cause: thrown },
    );
  } finally {
    waiting.abort();
  }
  const version = /^redis_version:(.+)$/m.exec(info)?.[1]?.trim() ?? "unknown";
  if (!isRecent(version)) {
    throw new SimfleetError(
      "STORE_UNAVAILABLE",
      `Redis at ${where} is version ${version}; simfleet needs ${oldestVersion.join(".")} or newer: upgrade it`,
    );
  }
  const maxmemoryPolicy = /^maxmemory_policy:(.+)$/m.exec(info)?.[1]?.trim() ?? "unknown";
  if (maxmemoryPolicy !== "noeviction") {
    throw new SimfleetError(
      "STORE_UNAVAILABLE",
      `Redis at ${where} has maxmemory-policy ${maxmemoryPolicy} and would throw rows away when it is full: ` +
        "set it with CONFIG SET maxmemory-policy noeviction, and in redis.conf",
    );
  }
  return { version, maxmemoryPolicy };
}

/** An authentication or TLS failure emits an error event while commands just wait: fail with that error instead. */
function lastErrorInstead<T>(redis: Redis, reply: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    reply.then(resolve, reject);
    redis.on("error", reject);
    reply.finally(() => redis.off("error", reject)).catch(() => undefined);
  });
}

function isRecent(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > oldestVersion[0] || (major === oldestVersion[0] && minor >= oldestVersion[1]);
}

function addressOf(redis: Redis): string {
  const { path, host, port } = redis.options;
  return path ?? (host?.includes(":") ? `[${host}]:${port}` : `${host}:${port}`);
}

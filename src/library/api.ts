/**
 * The entry point `simfleet/api`: a client of the platform for programs. It authenticates, renews its token, and spends the
 * same quotas as the workers of simfleet. This file declares each type that it exports, so that a consumer needs no
 * other package's types.
 */
import { PlatformClient } from "#api/client.ts";
import { simOperationCall } from "#api/operations/sim-operation.ts";
import { listSims } from "#api/operations/sims.ts";
import { PlatformError } from "#core/errors.ts";
import { Secret } from "#core/secret.ts";
import { systemClock } from "#core/time.ts";
import { version } from "#core/version.ts";
import { setSpeedClass } from "#fleet/sim-operation/sim-operation.ts";
import { Limiter } from "#limiter/limiter.ts";
import { RedisConnections } from "#redis/connection.ts";
import { Keys } from "#redis/keys.ts";
import { redisTarget } from "./redis-target.ts";

export interface ClientOptions {
  /** Base address of the platform: `https://…`. */
  readonly endpoint: string;
  readonly authKeyId: string;
  readonly authKey: string;
  /** Address of Redis, such as `redis://127.0.0.1:6379`, or the path of its socket. */
  readonly redis: string;
  /** Name of the account in the names of the quotas; default `default`. Use the worker's to share its quota. */
  readonly profile?: string;
  /** Word in the names of the headers; default `Svc`. */
  readonly brand?: string;
  /** Length of the platform's windows in milliseconds; default 60,000. */
  readonly periodMs?: number;
  /** Share of each quota, 0 to 1, that is left to other callers; default 0. */
  readonly reserve?: number;
  /** Calls in flight at once; default 10. */
  readonly connections?: number;
  /** Begins the names of all keys in Redis; default `{simfleet}`, which the workers use. */
  readonly keyPrefix?: string;
  /** Called when the connection to Redis is lost; it is opened again by itself. */
  readonly onError?: (error: Error) => void;
}

/** A SIM as the platform shows it, with all its fields. */
export interface Sim {
  readonly simId?: string | null | undefined;
  readonly imsi?: string | null | undefined;
  readonly speedClass?: string | null | undefined;
  readonly [field: string]: unknown;
}

/** Each call waits until the quota has room. Errors have a stable `code`, such as PLATFORM_UNAUTHORIZED. */
export interface Client {
  /** Every SIM of the account; a page is fetched when it is needed. */
  sims(options?: { readonly signal?: AbortSignal }): AsyncGenerator<Sim, void, undefined>;
  /** @returns the SIM after the change */
  setSpeedClass(simId: string, speedClass: string, options?: { readonly signal?: AbortSignal }): Promise<Sim>;
  /** Waits for calls in flight and closes all connections. */
  close(): Promise<void>;
}

const changeSpeedClass = simOperationCall(setSpeedClass);

/** @throws an error with the code CONFIG_INVALID if an option is not valid */
export function openClient(options: ClientOptions): Client {
  const connections = new RedisConnections(redisTarget(options.redis), options.onError);
  const { periodMs = 60_000, reserve = 0 } = options;
  const platform = new PlatformClient({
    profile: { name: options.profile ?? "default", coverage: undefined, wording: "sims" },
    brand: options.brand ?? "Svc",
    language: "en",
    endpoints: { global: options.endpoint },
    credentials: { kind: "auth-key", authKeyId: options.authKeyId, authKey: new Secret(options.authKey) },
    periodMs,
    connections: options.connections ?? 10,
    clock: systemClock,
    permits: new Limiter({
      redis: connections.connect("library"),
      keys: new Keys(options.keyPrefix),
      periodMs,
      reserve,
    }),
    userAgent: `simfleet/${version}`,
  });
  return {
    async *sims({ signal } = {}) {
      const starts = new Set<string | undefined>();
      let start: string | undefined;
      do {
        if (starts.has(start)) throw endless();
        starts.add(start);
        const page = await whenPermitted(() => pageFrom(platform, start, signal), signal);
        yield* page.items;
        start = page.nextKey;
      } while (start !== undefined);
    },
    setSpeedClass: async (simId, speedClass, { signal } = {}) =>
      (await whenPermitted(
        () => platform.call(changeSpeedClass, { key: simId, inputs: [speedClass] }, { signal }),
        signal,
      )) ?? {},
    close: async () => {
      await platform.close();
      await connections.close();
    },
  };
}

async function pageFrom(
  platform: PlatformClient,
  lastEvaluatedKey: string | undefined,
  signal: AbortSignal | undefined,
): Promise<{ readonly items: readonly Sim[]; readonly nextKey: string | undefined }> {
  const { value } = await platform.pages(listSims, { lastEvaluatedKey }, { signal }).next();
  return value ?? { items: [], nextKey: undefined };
}

function endless(): PlatformError {
  const { id: operation } = listSims;
  return new PlatformError("PLATFORM_CONTRACT", `${operation}: a key was given before, so the list would never end.`, {
    operation,
  });
}

/** Repeats a call that the quota had no room for: it was not carried out. */
async function whenPermitted<T>(call: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (thrown) {
      if (!(thrown instanceof PlatformError) || thrown.code !== "PLATFORM_THROTTLED") throw thrown;
      await systemClock.sleep(thrown.retryAfterMs ?? 1_000, signal);
    }
  }
}

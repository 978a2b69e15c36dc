/** Where the app connects to Redis, from the configuration. */
import type { Config } from "#config/config.ts";
import type { RedisServerTarget } from "#redis/connection.ts";

/** The configured server, or the folder of the embedded one. The password leaves its Secret here. */
export function redisTargetOf({ redis, dataDir }: Config): RedisServerTarget | { readonly dataDir: string } {
  if (redis === undefined) return { dataDir };
  const { host, port, username, database, tls } = redis;
  return {
    host,
    port,
    username,
    password: redis.password?.reveal(),
    database,
    tls: tls === undefined ? undefined : { ca: tls.ca, cert: tls.cert, key: tls.key?.reveal() },
  };
}

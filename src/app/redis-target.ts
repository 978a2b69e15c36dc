/** Where the app connects to Redis, from the configuration. */
import type { Config } from "#config/config.ts";
import type { RemoteTarget } from "#redis/target.ts";

/** The configured servers, or the folder of the embedded one. The passwords leave their Secrets here. */
export function redisTargetOf({ redis, dataDir }: Config): RemoteTarget | { readonly dataDir: string } {
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

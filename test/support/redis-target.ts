/** A Redis address as tests write it, a socket path or a URL, as connection options. */
import { parseRedisUrl } from "#config/sections/redis-url.ts";
import type { RedisTarget } from "#redis/target.ts";

export function redisTarget(place: string): RedisTarget {
  if (place.startsWith("/")) return { socketPath: place };
  const url = parseRedisUrl(place);
  if ("faults" in url) throw new Error(`${place} ${url.faults.join(" ")}`);
  const { topology, addresses, primary = "", isTls, database, ...user } = url;
  const login = isTls ? { ...user, tls: {} } : user;
  const [server] = addresses;
  if (topology === "cluster" || server === undefined) return { nodes: addresses, ...login };
  if (topology === "sentinel") return { sentinels: addresses, primary, database, ...login };
  return { ...server, database, ...login };
}

/** A Redis address as tests write it, a socket path or a URL, as connection options. */
import { parseRedisUrl } from "#config/sections/redis-url.ts";
import type { RedisTarget } from "#redis/connection.ts";

export function redisTarget(place: string): RedisTarget {
  if (place.startsWith("/")) return { socketPath: place };
  const url = parseRedisUrl(place);
  if ("fault" in url) throw new Error(`${place} ${url.fault}`);
  const { isTls, ...target } = url;
  return isTls ? { ...target, tls: {} } : target;
}

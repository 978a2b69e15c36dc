/** Turns the address of Redis, a URL or the path of a socket, into connection options. */
import { parseRedisUrl } from "#config/sections/redis.ts";
import { ConfigError } from "#core/errors.ts";
import type { RedisTarget } from "#redis/connection.ts";

/** @throws ConfigError if the address is not valid */
export function redisTarget(place: string): RedisTarget {
  if (place.startsWith("/")) return { socketPath: place };
  const url = parseRedisUrl(place);
  if ("fault" in url) throw new ConfigError([{ where: "redis", message: url.fault }]);
  const { isTls, ...target } = url;
  return { ...target, tls: isTls ? {} : undefined };
}

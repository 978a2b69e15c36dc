/** Opens the way to Redis: the one that is configured, or simfleet's own where none is. */
import type { Lifecycle } from "#core/lifecycle.ts";
import type { Clock } from "#core/time.ts";
import { RedisConnections, type RedisServerTarget } from "./connection.ts";
import { EmbeddedRedis } from "./embedded.ts";

/**
 * @param place where Redis is, or where the embedded one keeps its data
 * @throws SimfleetError STORE_UNAVAILABLE when the embedded server cannot be started
 */
export async function openRedis(
  place: RedisServerTarget | { readonly dataDir: string },
  deps: {
    cacheDir: string;
    path: string;
    env: Readonly<Record<string, string | undefined>>;
    clock: Clock;
    lifecycle: Lifecycle;
    onError: (error: Error) => void;
  },
): Promise<RedisConnections> {
  const { lifecycle, onError } = deps;
  if ("host" in place) {
    const connections = new RedisConnections(place, onError);
    lifecycle.onStop("Redis connections", () => connections.close());
    return connections;
  }
  const embedded = await EmbeddedRedis.attach({ dataDir: place.dataDir, ...deps });
  lifecycle.onStop("embedded Redis", () => embedded.close());
  const connections = new RedisConnections({ embedded }, onError);
  lifecycle.onStop("Redis connections", () => connections.close());
  return connections;
}

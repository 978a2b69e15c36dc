/** Opens the configured Redis, or the embedded one if none is configured. */
import type { Lifecycle } from "#core/lifecycle.ts";
import type { Clock } from "#core/time.ts";
import { RedisConnections } from "./connection.ts";
import { EmbeddedRedis } from "./embedded/embedded.ts";
import type { RemoteTarget } from "./target.ts";

/**
 * @param place the location of Redis, or the data directory of the embedded one
 * @throws SimfleetError STORE_UNAVAILABLE if the embedded server cannot be started
 */
export async function openRedis(
  place: RemoteTarget | { readonly dataDir: string },
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
  if (!("dataDir" in place)) {
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

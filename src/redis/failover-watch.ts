/**
 * Hears from every Sentinel that the primary has changed. A primary that was replaced but is alive, cut off or about to be
 * demoted, keeps accepting writes for seconds, and all of them are lost: so connections to it are given up at once. Each
 * Sentinel is heard, since one that does not know of the change yet still names the old primary.
 */
import { Redis } from "ioredis";
import type { RedisSentinelTarget } from "./target.ts";

const channel = "+switch-master";

/** @returns stops it */
export function watchFailovers(
  target: RedisSentinelTarget,
  { onSwitch, onError }: { onSwitch: () => void; onError: (error: Error) => void },
): () => void {
  const { sentinels, primary, tls, sentinelUsername, sentinelPassword } = target;
  const login = {
    ...(sentinelUsername === undefined ? {} : { username: sentinelUsername }),
    ...(sentinelPassword === undefined ? {} : { password: sentinelPassword }),
    ...(tls === undefined ? {} : { tls }),
  };
  const watchers = sentinels.map(({ host, port }) => {
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

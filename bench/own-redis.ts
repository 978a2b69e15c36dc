/** A Redis for one run of a bench, with a folder for its files and for those of the processes that it measures. */
import { mkdtemp, rm } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { redisConnections } from "#redis/connection.ts";
import { attachRedis } from "#redis/embedded/embedded.ts";

export async function startOwnRedis() {
  const folder = await mkdtemp(join(tmpdir(), "simfleet-bench-"));
  const dataDir = join(folder, "d");
  const cacheDir = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "simfleet");
  const embedded = await attachRedis({ dataDir, cacheDir, path: process.env.PATH ?? "" });
  const connections = redisConnections(embedded);
  const close = async (): Promise<void> => {
    await connections.close();
    await embedded.close();
    await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 }); // its Redis is still shutting down
  };
  return { folder, dataDir, redis: connections.connect("bench"), socketPath: embedded.socketPath, close };
}

/** A separate process that attaches to a data directory, reports it, and exits when its input ends. */
import { attachRedis } from "#redis/embedded/embedded.ts";

const [dataDir = "", cacheDir = ""] = process.argv.slice(2);
const embedded = await attachRedis({ dataDir, cacheDir, path: process.env.PATH ?? "" });
console.log(`attached ${embedded.socketPath}`);
process.stdin.resume().on("end", () => void embedded.close());

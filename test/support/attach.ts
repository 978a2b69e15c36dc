/** A separate process that attaches to a data directory, reports it, and exits when its input ends. */
import { EmbeddedRedis } from "#redis/embedded/embedded.ts";

const [dataDir = "", cacheDir = ""] = process.argv.slice(2);
const embedded = await EmbeddedRedis.attach({ dataDir, cacheDir, path: process.env.PATH ?? "" });
console.log(`attached ${embedded.socketPath}`);
process.stdin.resume().on("end", () => void embedded.close());

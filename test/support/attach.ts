/** A process of its own that attaches to a data directory, says so, and leaves when its input ends. */
import { EmbeddedRedis } from "#redis/embedded.ts";

const [dataDir = "", cacheDir = ""] = process.argv.slice(2);
const embedded = await EmbeddedRedis.attach({ dataDir, cacheDir, path: process.env.PATH ?? "" });
console.log(`attached ${embedded.socketPath}`);
process.stdin.resume().on("end", () => void embedded.close());

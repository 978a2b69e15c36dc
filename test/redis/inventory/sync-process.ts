/**
 * A process that completes one sync, to be killed by its parent at any moment. It says on stdout when it starts.
 *   node sync-process.ts REDIS_URL PREFIX SANDBOX_URL PROFILE
 */
import { redisConnections } from "#redis/connection.ts";
import { Keys } from "#redis/keys.ts";
import { accountOf, syncParts, workOn } from "./sync-harness.ts";
import { redisTarget } from "../../support/redis-target.ts";

const [redisUrl = "", prefix = "", url = "", profile = ""] = process.argv.slice(2);
const connections = redisConnections(redisTarget(redisUrl));
const deps = syncParts({
  redis: connections.connect("killed"),
  keys: new Keys(prefix),
  url,
  profile,
  wording: "sims",
  coverage: "g",
});
console.log("begun");
const { kind } = await workOn(deps, accountOf(deps.client, "sims"));
await deps.client.close();
await connections.close();
process.exitCode = kind === "ended" ? 0 : 1;
